// Decides which PUBACKs of a broker outside are no promise of the service.
import type { FaultNote, Message, Promises } from '../recording.ts'

/** A killed broker loses what it acknowledged in its last moments, also messages on their way to the log. */
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
