import { expect, test } from 'vitest'
import type { Watch } from './messages.ts'
import { type EventFrame, Subscriptions } from './subscriptions.ts'

interface SentFrame {
  readonly type: string
  readonly id: string
  readonly channel?: string
}

function subscriptions() {
  const sent: SentFrame[] = []
  const all = new Subscriptions((frame) => sent.push(frame as SentFrame))
  /** What was sent since it was asked last, without the names. */
  const said = () => sent.splice(0).map(({ type, channel = '' }) => `${type} ${channel}`.trim())
  const open = new Map<string, string>()
  const follow = () => {
    for (const { type, id, channel } of sent) if (type === 'subscribe') open.set(channel ?? '', id)
  }
  const nameOf = (channel: string) => {
    follow()
    return open.get(channel) ?? ''
  }
  const event = (channel: string, n: number): EventFrame => ({
    ...{ type: 'event', id: nameOf(channel), event: 'log', ts: '2026-01-01T00:00:00Z', data: n },
  })
  return { all, said, nameOf, event }
}

const LOGS: Watch = { channel: 'logs', filter: { device_id: 'd1' }, snapshot: false }
const DEVICES: Watch = { channel: 'devices', filter: { device_id: 'd1' } }

test('watches that ask for the same share one subscription until the last of them ends', () => {
  const { all, said, event, nameOf } = subscriptions()
  all.connected()
  all.watch('a', LOGS)
  all.watch('b', LOGS)
  nameOf('logs')
  const one = event('logs', 1)
  expect(said()).toEqual(['subscribe logs'])
  all.take(one)
  expect(all.handOver().map(({ id, events }) => [id, events.map(({ data }) => data)])).toEqual([
    ['a', [1]],
    ['b', [1]],
  ])
  all.unwatch('a')
  expect(said()).toEqual([])
  all.unwatch('b')
  expect(said()).toEqual(['unsubscribe'])
})

test('watches with a snapshot get one each', () => {
  const { all, said } = subscriptions()
  all.connected()
  all.watch('a', DEVICES)
  all.watch('b', DEVICES)
  expect(said()).toEqual(['subscribe devices', 'subscribe devices'])
})

test('a tab that nobody looks at keeps the alerts only, and learns on its return that it may have missed something', () => {
  const { all, said, event, nameOf } = subscriptions()
  all.connected()
  all.watch('logs', LOGS)
  all.watch('devices', DEVICES)
  all.watch('alerts', { channel: 'alerts', snapshot: false })
  nameOf('logs')
  const late = event('logs', 1)
  said()
  all.handOver()
  all.rest(true)
  expect(said()).toEqual(['unsubscribe', 'unsubscribe'])
  // What is mounted meanwhile waits, too, and what was under way is nobody's any more.
  all.watch('events', { channel: 'events', snapshot: false })
  all.take(late)
  expect([said(), all.handOver()]).toEqual([[], []])
  all.rest(false)
  expect(said()).toEqual(['subscribe logs', 'subscribe devices', 'subscribe events'])
  // The device comes with its snapshot, and the events begin.
  expect(all.handOver()).toEqual([
    { id: 'logs', events: [], dropped: 0, hasGap: true },
    { id: 'events', events: [], dropped: 0, hasGap: false },
  ])
  expect(all.handOver()).toEqual([])
})

test('after a lost connection everything is asked for again, and a gap is told, as is the beginning', () => {
  const { all, said } = subscriptions()
  all.watch('logs', LOGS)
  expect(said()).toEqual([])
  all.connected()
  expect(said()).toEqual(['subscribe logs'])
  expect(all.handOver()).toEqual([{ id: 'logs', events: [], dropped: 0, hasGap: false }])
  all.lost()
  all.unwatch('nobody')
  all.connected()
  expect(said()).toEqual(['subscribe logs'])
  expect(all.handOver()).toEqual([{ id: 'logs', events: [], dropped: 0, hasGap: true }])
})

test('a page that takes nothing for long gets the newest events, and the number of the others', () => {
  const { all, event, nameOf } = subscriptions()
  all.connected()
  all.watch('logs', LOGS)
  nameOf('logs')
  for (let n = 0; n < 12_000; n++) all.take(event('logs', n))
  all.take({ type: 'resync', id: nameOf('logs'), dropped: 7 })
  const [batch] = all.handOver()
  const { events = [], dropped = 0 } = batch ?? {}
  expect(events.length).toBeLessThanOrEqual(5000)
  expect([events.length + dropped, events.at(-1)?.data]).toEqual([12_007, 11_999])
})

test('more subscriptions than the service allows wait for a place', () => {
  const { all, said } = subscriptions()
  all.connected()
  for (let n = 0; n < 120; n++) all.watch(`w${n}`, DEVICES)
  expect(said()).toHaveLength(99)
  all.unwatch('w119')
  expect(said()).toEqual([])
  all.unwatch('w0')
  expect(said()).toEqual(['unsubscribe', 'subscribe devices'])
})

test('a refusal reaches those who watch', () => {
  const { all, nameOf } = subscriptions()
  all.connected()
  all.watch('a', LOGS)
  all.watch('b', LOGS)
  expect(all.take({ type: 'error', id: nameOf('logs') })).toEqual(['a', 'b'])
})
