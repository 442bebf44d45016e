// The bodies of a log line and of a timeline entry in REST and /ws.
import type { HistoryRow } from '../../engine/ports/history.ts'
import { toIso, toMillis } from '../../schemas/ids.ts'

type RowContent = Pick<HistoryRow, 'at' | 'kind' | 'body'>

export function logBody({ at, body }: Pick<RowContent, 'at' | 'body'>) {
  const { level, message, logger = null, fields = {} } = body
  return { timestamp: toIso(toMillis(at)), level, message, logger, fields }
}

export function eventBody({ at, kind, body }: RowContent) {
  return { timestamp: toIso(toMillis(at)), kind, data: body }
}
