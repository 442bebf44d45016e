// When a PUBACK of a broker of its own is no promise of ours.
import type { FaultNote, Message, Promises } from '../recording.ts'

/** A broker that is killed takes what it acknowledged in its last moments; its messages on the way to the log, too. */
export function mayBeLost(
  { ackedAt }: Pick<Message, 'ackedAt'>,
  faults: readonly FaultNote[],
  { isPubackDurable, brokerLossMs }: Promises,
): boolean {
  if (ackedAt === undefined) return true
  if (isPubackDurable) return false
  return faults.some(
    ({ target, kind, from, to = Number.POSITIVE_INFINITY }) =>
      target === 'broker' && kind === 'kill' && ackedAt >= from - brokerLossMs && ackedAt <= to,
  )
}
