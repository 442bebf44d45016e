// Decides which PUBACKs of a broker outside are no promise of the service, and which reads are not to be compared.
import type { FaultNote, Message, Promises } from '../recording.ts'

/** What the log has is in Redis and ClickHouse this long after, if all parts were well. */
const SETTLED_MS = 8_000
/** A process may end a little after its fault was noted. */
const ENDS_MS = 1_000
/** The nodes end once they notice that the log is another one, and start again. */
const NOTICED_MS = 30_000

/** A killed broker loses what it acknowledged in its last moments, also messages on their way to the log. A log that comes
 *  back empty has lost what was not settled yet. */
export function mayBeLost(
  { ackedAt }: Pick<Message, 'ackedAt'>,
  faults: readonly FaultNote[],
  { isPubackDurable, brokerLossMs }: Promises,
): boolean {
  if (ackedAt === undefined) return true
  if (isPubackDurable) return false
  return faults.some((fault) => {
    const { target, kind, from, to = Number.POSITIVE_INFINITY } = fault
    if (isWipe(fault)) return ackedAt >= settledUntil(faults, fault) && ackedAt <= from + ENDS_MS
    return target === 'broker' && kind === 'kill' && ackedAt >= from - brokerLossMs && ackedAt <= to
  })
}

/** The spans of time within which readings of latest values may be compared. Such a value is in the memory of an engine and
 *  in the log, so it goes back with the log. */
export function comparableSpans(
  faults: readonly FaultNote[],
): readonly { readonly from: number; readonly to: number }[] {
  const spans: { from: number; to: number }[] = []
  let begin = 0
  for (const { from, to = from } of faults.filter(isWipe).toSorted((a, b) => a.from - b.from)) {
    spans.push({ from: begin, to: from })
    begin = to + NOTICED_MS
  }
  return [...spans, { from: begin, to: Number.POSITIVE_INFINITY }]
}

const isWipe = ({ kind }: FaultNote) => kind === 'wipe'

/** Up to when everything was settled as the data went. Whatever was broken shortly before held messages up. */
function settledUntil(faults: readonly FaultNote[], wipe: FaultNote): number {
  const since = wipe.from - SETTLED_MS
  const before = faults.filter(({ from, to = from }) => from <= wipe.from && to >= since)
  return Math.min(...before.map(({ from }) => from)) - SETTLED_MS
}
