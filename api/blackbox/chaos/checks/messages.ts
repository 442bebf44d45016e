// Checks messages of devices: each acknowledged one is stored once, in the order of sending.
import type { DeviceOutcome, Message, Recording } from '../recording.ts'
import { groupedBy } from './grouped.ts'
import { mayBeLost } from './losses.ts'
import type { Violation } from './violation.ts'

const SERIES = ['timed', 'plain'] as const

export function checkMessages(recording: Recording): readonly Violation[] {
  const byDevice = groupedBy(recording.messages, ({ device }) => device)
  return recording.stored.flatMap((stored) => {
    const messages = byDevice.get(stored.device) ?? []
    return [
      ...SERIES.flatMap((series) => missing(recording, stored, ofSeries(messages, series))),
      ...doubled(stored, ofSeries(messages, 'plain')),
      ...misplaced(stored, ofSeries(messages, 'timed')),
      ...shuffled(stored, ofSeries(messages, 'plain')),
      ...parked(stored),
      ...miscounted(stored),
    ]
  })
}

function ofSeries(messages: readonly Message[], series: Message['series']): readonly Message[] {
  return messages.filter((message) => message.series === series)
}

function missing(
  { faults, promises }: Recording,
  stored: DeviceOutcome,
  messages: readonly Message[],
): readonly Violation[] {
  const { device } = stored
  const plain = new Set(stored.plain)
  const timed = new Set(stored.timed.map(({ slot }) => slot))
  return messages.flatMap((message): Violation[] => {
    const { series, n } = message
    const there = series === 'plain' ? plain : timed
    if (there.has(n) || mayBeLost(message, faults, promises)) return []
    const text = `${series} message ${n} was acknowledged at ${message.ackedAt} and is not stored`
    return [{ check: 'messages', device, text, isAbsence: true }]
  })
}

/** A message without a PUBACK is sent again and may be stored once per transmission. */
function doubled({ device, plain }: DeviceOutcome, messages: readonly Message[]): readonly Violation[] {
  const counts = new Map<number, number>()
  for (const n of plain) counts.set(n, (counts.get(n) ?? 0) + 1)
  const sent = new Map(messages.map(({ n, sentAt }) => [n, sentAt.length]))
  return [...counts].flatMap(([n, count]): Violation[] => {
    const times = sent.get(n) ?? 0
    if (count <= times) return []
    return [
      {
        check: 'messages',
        device,
        text: `plain message ${n} was sent ${times} times and is stored ${count} times`,
      },
    ]
  })
}

/** A message with its own time has one place, however often it was sent. */
function misplaced({ device, timed }: DeviceOutcome, messages: readonly Message[]): readonly Violation[] {
  const sent = new Set(messages.map(({ n }) => n))
  const seen = new Set<number>()
  return timed.flatMap(({ slot, value }): Violation[] => {
    const isRepeated = seen.has(slot)
    seen.add(slot)
    if (!isRepeated && slot === value && sent.has(slot)) return []
    const what = isRepeated ? 'is stored more than once' : `holds ${value}, which it was never sent`
    return [{ check: 'messages', device, text: `the place of timed message ${slot} ${what}` }]
  })
}

/** The stored messages must be a part of the transmissions, in the same order. */
function shuffled({ device, plain }: DeviceOutcome, messages: readonly Message[]): readonly Violation[] {
  const wire = messages
    .flatMap(({ n, sentAt }) => sentAt.map((at) => ({ n, at })))
    .sort((a, b) => a.at - b.at)
    .map(({ n }) => n)
  let from = 0
  for (const [i, n] of plain.entries()) {
    const at = wire.indexOf(n, from)
    if (at < 0) {
      const text = `plain messages are stored out of order at ${i}: … ${plain.slice(Math.max(0, i - 4), i + 3).join(' ')} …`
      return [{ check: 'messages', device, text }]
    }
    from = at + 1
  }
  return []
}

/** Buckets have what the points have. */
function miscounted({ device, plain, timed, counted }: DeviceOutcome): readonly Violation[] {
  const points = { plain: plain.length, timed: timed.length }
  return SERIES.filter((series) => counted[series] !== points[series]).map((series) => {
    const text = `the buckets of ${series} count ${counted[series]} points, there are ${points[series]}`
    return { check: 'messages', device, text, isAbsence: true }
  })
}

function parked({ device, parked: count }: DeviceOutcome): readonly Violation[] {
  return count === 0 ? [] : [{ check: 'messages', device, text: `${count} messages are dead letters` }]
}
