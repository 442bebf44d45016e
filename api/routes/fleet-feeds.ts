// GET /logs and GET /events: log lines of all devices and what happened to them, newest first.
import type { FleetHistoryQuery, HistoryRow } from '../../engine/ports/history.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { listFleetEvents, listFleetLogs } from '../../schemas/operations/history.ts'
import type { Caller } from '../auth/caller.ts'
import { readSelected, selectFleet } from '../auth/fleet-selection.ts'
import { scopeOf } from '../auth/scope.ts'
import { timelineKinds } from '../auth/timeline-access.ts'
import { eventBody, logBody } from '../bodies/history-body.ts'
import { type Answer, answer } from '../http/answer.ts'
import { nextLink } from '../http/cursor.ts'
import { parseFleetCursor, toFleetCursor } from '../http/fleet-cursor.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { parseSpan } from '../http/span.ts'
import { type Refusal, refused } from '../refusal.ts'
import { orTooMuch } from './telemetry-query.ts'

export function fleetFeedRoutes(services: Services): readonly Route[] {
  return [
    route(listFleetLogs, ({ query, user, url }) => {
      const rows = { kinds: ['log'], labels: query.level?.split(','), find: query.find } as const
      return page(services, { query, user, url, rows, toBody: logBody })
    }),
    route(listFleetEvents, ({ query, user, url }) => {
      const only = query.kind?.split(',')
      const kinds = timelineKinds(user.role).filter((kind) => only?.includes(kind) ?? true)
      return page(services, { query, user, url, rows: { kinds }, toBody: eventBody })
    }),
  ]
}

interface FeedCall {
  readonly query: {
    readonly cursor?: string
    readonly limit?: number
    readonly from?: string
    readonly to?: string
    readonly group?: string
    readonly device_id?: string
  }
  readonly user: Caller
  readonly url: string
  readonly rows: Pick<FleetHistoryQuery, 'kinds' | 'labels' | 'find'>
  readonly toBody: (row: HistoryRow) => object
}

async function page(
  { engine, clock }: Services,
  { query, user, url, rows, toBody }: FeedCall,
): Promise<Answer | Refusal> {
  const { cursor, limit = BODY_LIMITS.perPageDefault } = query
  const span = parseSpan(query, clock.now())
  if (span.kind === 'refused') return span
  const before = cursor === undefined ? undefined : parseFleetCursor(cursor)
  if (cursor !== undefined && before === undefined)
    return refused('BAD_REQUEST', { message: 'cursor: must be the `next_cursor` of an earlier answer' })
  const selection = selectFleet(engine, query, scopeOf(user))
  if (selection === undefined) return answer(200, { data: [], next_cursor: null })
  const wanted = { ...rows, from: span.from, to: span.to, before, limit }
  const found = await orTooMuch(readSelected(engine, selection, wanted))
  if (found.kind === 'refused') return found
  const next = found.found.next === undefined ? null : toFleetCursor(found.found.next)
  const data = found.found.rows.map((row) => ({ device_id: row.deviceId, ...toBody(row) }))
  return answer(200, { data, next_cursor: next }, next === null ? {} : { link: nextLink(url, next) })
}
