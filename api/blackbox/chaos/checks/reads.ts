// Checks snapshots and other answers: nobody reads older data than was shown before.
import type { Call, Message, Recording, SnapshotCall } from '../recording.ts'
import { groupedBy } from './grouped.ts'
import { comparableSpans } from './losses.ts'
import { type Operation, outOfOrder } from './real-time.ts'
import type { Violation } from './violation.ts'

/** A message is visible after it was sent and until the next one is visible. */
const SEEN = 0.5
const SERIES = ['timed', 'plain'] as const

export function checkReads(recording: Recording): readonly Violation[] {
  const messages = groupedBy(recording.messages, ({ device }) => device)
  const calls = groupedBy(recording.calls, ({ device }) => device)
  const spans = comparableSpans(recording.faults)
  const comparable = (operations: readonly Operation[]) =>
    spans.map(({ from, to }) => operations.filter((one) => one.from >= from && one.from < to))
  const stale = [...calls].flatMap(([device, own]) => {
    const looks = own.filter((call) => call.kind === 'snapshot')
    return SERIES.flatMap((series) =>
      comparable([...saidOf(recording, messages.get(device) ?? [], series), ...seenOf(looks, series)])
        .flatMap(outOfOrder)
        .map(({ earlier, later }) => {
          const text = `${later.label} of ${later.from}, after ${earlier.label} at ${earlier.to}`
          return { check: 'reads', device, text }
        }),
    )
  })
  return [
    ...stale,
    ...[...calls].flatMap(([device, own]) => staleRecords(device, own)),
    ...oddAnswers(recording),
  ]
}

/** Edits of a device follow each other, and a read shows the last one that was answered or a later one. */
function staleRecords(device: string, calls: readonly Call[]): readonly Violation[] {
  const operations = calls.flatMap((call): Operation[] => {
    if (call.kind !== 'edit' && call.kind !== 'record' && call.kind !== 'list') return []
    const { kind, edit, status, from, to = Number.POSITIVE_INFINITY, node } = call
    if (edit === undefined) return []
    const label = `${kind} ${edit} at ${node}`
    if (kind !== 'edit') return [{ label, place: edit + SEEN, from, to }]
    return [
      { label, place: edit, from, to: status === 200 || status === 201 ? to : Number.POSITIVE_INFINITY },
    ]
  })
  return outOfOrder(operations).map(({ earlier, later }) => {
    const text = `${later.label} began at ${later.from}, after ${earlier.label} had ended at ${earlier.to}`
    return { check: 'reads', device, text }
  })
}

/** If a PUBACK is the log's, the acknowledged message is visible from then on. */
function saidOf(
  { promises }: Recording,
  messages: readonly Message[],
  series: (typeof SERIES)[number],
): readonly Operation[] {
  return messages.flatMap((message): Operation[] => {
    const { n, ackedAt, sentAt } = message
    if (message.series !== series || sentAt[0] === undefined) return []
    const to = promises.isPubackDurable ? ackedAt : undefined
    const label = `message ${series} ${n}`
    return [{ label, place: n, from: sentAt[0], to: to ?? Number.POSITIVE_INFINITY }]
  })
}

function seenOf(calls: readonly SnapshotCall[], series: (typeof SERIES)[number]): readonly Operation[] {
  return calls.flatMap((call): Operation[] => {
    const { status, from, to, caller } = call
    if (status !== 200 || to === undefined) return []
    const seen = call[series] ?? -1
    return [{ label: `${caller} reads ${series} ${seen}`, place: seen + SEEN, from, to }]
  })
}

/** Expected refusals and reported faults are correct; any other answer is a bug of the service. */
function oddAnswers({ calls }: Recording): readonly Violation[] {
  return calls.flatMap(({ kind, status, device, caller, node, from, text }): Violation[] => {
    const isExpected = status === undefined || [...EXPECTED[kind], ...AWAY].includes(status)
    if (isExpected) return []
    return [{ check: 'answers', device, text: `${kind} of ${caller} at ${node}, ${from}: ${status} ${text}` }]
  })
}

const AWAY = [503, 504]
const EXPECTED = {
  desire: [200, 409],
  shadow: [200],
  snapshot: [200],
  // A repetition with its key gets the command as it is now, and is refused while the first request runs.
  command: [200, 202, 409],
  look: [200],
  edit: [200, 201],
  record: [200, 404],
  list: [200],
  // The command has ended.
  cancel: [200, 409],
} satisfies Readonly<Record<Recording['calls'][number]['kind'], readonly number[]>>
