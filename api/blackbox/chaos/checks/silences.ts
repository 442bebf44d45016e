// Checks silence: no device counts as silent that was heard within its timeout.
import type { Recording } from '../recording.ts'
import { groupedBy } from './grouped.ts'
import { mayBeLost } from './losses.ts'
import type { Violation } from './violation.ts'

/** What a device may be silent for if neither it nor its type says otherwise. */
const TIMEOUT_MS = 60_000
/** How far the clock of a node may be from that of the run. */
const SKEW_MS = 2_000

export function checkSilences({ messages, stored, faults, promises }: Recording): readonly Violation[] {
  const byDevice = groupedBy(messages, ({ device }) => device)
  return stored.flatMap(({ device, silences }) =>
    silences.flatMap((at): Violation[] => {
      const heard = byDevice.get(device)?.find((message) => {
        const { sentAt, ackedAt = Number.POSITIVE_INFINITY } = message
        const isWithin = (sentAt[0] ?? 0) > at - TIMEOUT_MS + SKEW_MS && ackedAt < at - SKEW_MS
        return isWithin && !mayBeLost(message, faults, promises)
      })
      if (heard === undefined) return []
      const text = `counts as silent at ${at}, and its message of ${heard.sentAt[0]} was acknowledged at ${heard.ackedAt}`
      return [{ check: 'silences', device, text }]
    }),
  )
}
