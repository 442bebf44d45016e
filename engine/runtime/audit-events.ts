// Turns entries of the audit and dead letters into events of the feed.
import { toMillis } from '../../schemas/ids.ts'
import type { WrittenRow } from '../domain/history/row.ts'
import { type AuditEvent, FLEET } from '../ports/feed.ts'
import type { DeadLetter } from '../ports/store.ts'

/** Events for the audit entries among `rows`; rows of the timeline have none here. */
export function auditEvents(rows: readonly WrittenRow[]): readonly AuditEvent[] {
  return rows.flatMap((row) => {
    if (row.kind !== 'audit') return []
    const deviceId = row.deviceId === '' ? FLEET : row.deviceId
    return [{ kind: 'audit', event: 'audit.recorded', deviceId, at: toMillis(row.at), row }]
  })
}

export function deadLetterEvents(letters: readonly DeadLetter[]): readonly AuditEvent[] {
  return letters.map((letter) => ({
    kind: 'dead_letter',
    event: 'dead_letter.added',
    deviceId: letter.deviceId,
    at: toMillis(letter.receivedAt),
    letter,
  }))
}
