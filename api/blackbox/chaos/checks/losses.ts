// Decides which PUBACKs of a broker outside are no promise of the service, and which reads are not to be compared.
import type { FaultNote, Message, Promises } from '../recording.ts'

/** What the log has is in Redis and ClickHouse this long after, if all parts were well. */
const SETTLED_MS = 8_000
/** A process may end a little after its fault was noted. */
const ENDS_MS = 1_000
/** The nodes end once they notice that the log is another one, and start again. */
const NOTICED_MS = 30_000
/** The ingress reads again this long after its broker came back without its queues. */
const READ_AGAIN_MS = 10_000

/** A killed broker loses what it acknowledged in its last moments, also messages on their way to the log. A log that comes
 *  back empty has lost what was not settled yet. */
export function mayBeLost(
  { ackedAt }: Pick<Message, 'ackedAt'>,
  faults: readonly FaultNote[],
  promises: Promises,
): boolean {
  if (ackedAt === undefined) return true
  if (promises.isPubackDurable) return false
  return faults.some((fault) => {
    const lost = lostSpan(fault, faults, promises)
    return lost !== undefined && ackedAt >= lost.from && ackedAt <= lost.to
  })
}

function lostSpan(
  fault: FaultNote,
  faults: readonly FaultNote[],
  { brokerLossMs, losesQueues }: Promises,
): { readonly from: number; readonly to: number } | undefined {
  const { target, kind, from, to = Number.POSITIVE_INFINITY } = fault
  if (isWipe(fault)) return { from: heldUpSince(faults, fault, SETTLED_MS), to: from + ENDS_MS }
  if (target !== 'broker' || kind !== 'kill') return undefined
  if (losesQueues !== true) return { from: from - brokerLossMs, to }
  // What waits in a queue is not read, and what comes before the queue is there again goes nowhere.
  return { from: heldUpSince(faults, fault, brokerLossMs), to: to + READ_AGAIN_MS }
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

/** Up to when everything had arrived, if that takes so long. Whatever was broken shortly before held messages up. */
function heldUpSince(faults: readonly FaultNote[], fault: FaultNote, takesMs: number): number {
  const since = fault.from - takesMs
  const before = faults.filter(({ from, to = from }) => from <= fault.from && to >= since)
  return Math.min(...before.map(({ from }) => from)) - takesMs
}
