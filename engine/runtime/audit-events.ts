// The audit and dead letters as the feed tells them.
import { toMillis } from '../../schemas/ids.ts'
import type { WrittenRow } from '../domain/history/row.ts'
import { type AuditEvent, FLEET } from '../ports/feed.ts'
import type { DeadLetter } from '../ports/store.ts'

/** Rows of the timeline among them are left out. */
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
