import { describe, expect, test } from 'vitest'
import { CommandId, Micros, Millis } from '../../../schemas/ids.ts'
import { ITEM } from '../../domain/bundle.ts'
import type { Device } from '../../domain/device/record.ts'
import type { WorkResult } from './protocol.ts'
import { packSession } from './sessions.ts'
import {
  closed,
  deviceOf,
  idOf,
  opened,
  request,
  START,
  status,
  type TestItem,
  telemetry,
  will,
} from './testing/items.ts'
import { at, ShardBench, statuses, TIMEOUT_MS, valuesOf } from './testing/shard.ts'

const born = { createdAt: Millis(START - 1_000), statusSince: Millis(START - 1_000) }
const gateway = deviceOf('gw', { ...born, type: 'gateway', status: 'online' })
const child = deviceOf('c', { ...born, parentId: gateway.id })
const stranger = deviceOf('s', born)

const via = (item: TestItem, sender = 'gw'): TestItem => ({ ...item, via: sender })
const listening = (id: string, when: number, openedAt: number): TestItem => ({
  kind: ITEM.listening,
  id,
  at: when,
  payload: packSession({ number: Micros((START + openedAt) * 1000), ip: '10.0.0.1', cause: undefined }),
})
const heard = (id: string, when: number): TestItem => ({
  kind: ITEM.heard,
  id,
  at: when,
  payload: Buffer.alloc(0),
})
const on = (item: TestItem, suffix: string): TestItem => ({ ...item, suffix })
const command = (id: string, when: number, more: object = {}) =>
  request('c', when, { kind: 'command', id: CommandId(id), wish: { name: 'go', ...more } })
const desire = (when: number) => request('c', when, { kind: 'desire', patch: { on: true }, mode: 'merge' })
const sent = ({ proposal }: WorkResult) =>
  proposal.outbound.map((to) => `${to.via ?? ''}>${to.deviceId} ${to.message.suffix}`)
const letters = ({ proposal }: WorkResult) =>
  proposal.deadLetters.map(({ deviceId, topic, reason }) => [deviceId, topic, reason])

function family(...more: readonly Device[]): ShardBench {
  return new ShardBench([gateway, child, stranger, ...more])
}

/** A connected gateway that is subscribed to its sub-device's commands, and a sub-device that has sent a message. */
function together(): ShardBench {
  const bench = family()
  bench.apply([
    opened('gw', 1),
    via(opened('c', 1)),
    via(listening('c', 2, 1)),
    via(telemetry('c', 3, { x: 1 })),
  ])
  return bench
}

describe('what a gateway sends', () => {
  test('for its sub-device counts as the sub-device’s own: telemetry, status and answers', () => {
    const bench = family()
    const result = bench.apply([
      via(telemetry('c', 1, { x: 7 })),
      via(status('c', 2, { status: 'online', session_id: 's1', firmware_version: '2.0' })),
      on(via(telemetry('c', 3, { speed: 1 })), 'shadow/reported'),
    ])
    expect(bench.snapshot('c')).toEqual({ x: 7 })
    expect(bench.snapshot('gw')).toEqual({})
    expect(statuses(result)).toEqual(['c online'])
    expect(result.proposal.changed[0]?.firmwareVersion).toBe('2.0')
    // The answer goes back the way the question came.
    expect(sent(result)).toEqual(['gw>c shadow/reported/accepted'])
    expect(valuesOf(bench.rows())).toEqual([7])
    expect(letters(result)).toEqual([])
  })

  test('for a device that is not its own has no effect and becomes a dead letter of the gateway', () => {
    const bench = family(deviceOf('d', { ...born, parentId: idOf('other') }))
    const result = bench.apply([
      via(telemetry('s', 1, { x: 1 })),
      via(telemetry('d', 2, { x: 1 })),
      via(telemetry('nobody', 3, { x: 1 })),
      via(telemetry('c', 4, { x: 1 }), 's'),
      on(via(telemetry('s', 5, { x: 1 })), 'shadow/reported'),
      via(opened('s', 6)),
    ])
    expect(letters(result)).toEqual([
      ['gw', 'fleet/gw/sub/s/telemetry', 'NOT_ITS_GATEWAY'],
      ['gw', 'fleet/gw/sub/d/telemetry', 'NOT_ITS_GATEWAY'],
      ['gw', 'fleet/gw/sub/nobody/telemetry', 'UNKNOWN_DEVICE'],
      ['s', 'fleet/s/sub/c/telemetry', 'NOT_ITS_GATEWAY'],
      ['gw', 'fleet/gw/sub/s/shadow/reported', 'NOT_ITS_GATEWAY'],
    ])
    expect(result.counts.refused).toBe(5)
    expect([result.proposal.changed, sent(result), result.proposal.feed]).toEqual([[], [], []])
    for (const id of ['s', 'd', 'c'])
      expect(bench.view(id)).toMatchObject({ connected: false, lastSeenAt: undefined })
    expect(bench.rows()).toEqual([])
  })

  test('as a malformed message for its sub-device becomes a dead letter of the sub-device, with the topic used', () => {
    expect(letters(family().apply([via(status('c', 1, 'asleep'))]))).toEqual([
      ['c', 'fleet/gw/sub/c/status', 'MALFORMED_STATUS'],
    ])
  })

  test('for no device, or without being a gateway, becomes its own dead letter', () => {
    const result = family().apply([
      on(telemetry('gw', 1, { x: 1 }), 'sub/c'),
      on(telemetry('s', 2, { x: 1 }), 'sub/c/telemetry'),
    ])
    expect(letters(result)).toEqual([
      ['gw', 'fleet/gw/sub/c', 'BAD_TOPIC'],
      ['s', 'fleet/s/sub/c/telemetry', 'NOT_A_GATEWAY'],
    ])
  })

  test('for a decommissioned sub-device is refused, and has no effect when it is read again', () => {
    const bench = together()
    const gone = bench.apply([request('c', 10, { kind: 'decommission' })])
    expect(sent(gone)).toEqual(['>gw sub/c/shadow/desired'])
    const late = via(telemetry('c', 20, { x: 2 }))
    expect(letters(bench.apply([late]))).toEqual([
      ['gw', 'fleet/gw/sub/c/telemetry', 'DEVICE_DECOMMISSIONED'],
    ])
    const again = new ShardBench([gateway, { ...child, status: 'decommissioned', statusSince: at(10) }], {
      applied: 1,
    })
    expect(letters(again.apply([late]))).toEqual([])
    expect(again.rows()).toEqual([])
  })
})

describe('a sub-device that is registered while the gateway speaks for it', () => {
  const spoken = (when: number) => via(telemetry('n', when, { x: when }))
  const registered = request('n', 1_000, {
    kind: 'register',
    name: 'n',
    type: 'mqtt_device',
    parentId: gateway.id,
  })
  const takes = (items: readonly TestItem[]) => {
    const first = family()
    const told = letters(first.apply(items)).map(([, , reason]) => reason)
    const device = first.view('n')?.device
    const replay = new ShardBench([gateway, ...(device === undefined ? [] : [device])], { applied: 1 })
    replay.apply(items)
    return [valuesOf(first.rows()), valuesOf(replay.rows()), told]
  }

  test('gets messages after its registration, although a clock that was set back gives them no later time', () => {
    expect(takes([registered, spoken(1_000)])).toEqual([[1_000], [1_000], []])
    expect(takes([registered, spoken(400)])).toEqual([[400], [400], []])
  })

  test('does not get messages from before its registration, in a replay as well', () => {
    expect(takes([spoken(1_000), registered])).toEqual([[], [], ['UNKNOWN_DEVICE']])
  })
})

describe('signs of life', () => {
  test('a sub-device lives by its own messages, and a gateway by everything in its session', () => {
    const bench = together()
    const later = TIMEOUT_MS - 1_000
    bench.apply([telemetry('gw', later, { x: 1 }), via(opened('c', later + 1))])
    const over = bench.work({ sweep: at(TIMEOUT_MS + 500), now: at(TIMEOUT_MS + 500) })
    expect(statuses(over)).toEqual(['c offline'])
    bench.apply([heard('gw', 2 * TIMEOUT_MS - 1_500)])
    const still = bench.work({ sweep: at(2 * TIMEOUT_MS), now: at(2 * TIMEOUT_MS) })
    expect(statuses(still)).toEqual([])
  })

  test('a gateway’s farewell for its sub-device counts if it names the current session', () => {
    const bench = together()
    bench.apply([via(status('c', 4, { status: 'online', session_id: 's2' }))])
    const old = bench.apply([via(status('c', 5, { status: 'offline', session_id: 's1' }))])
    expect(statuses(old)).toEqual([])
    const now = bench.apply([via(will('c', 6, { status: 'offline', session_id: 's2', reason: 'unplugged' }))])
    expect(statuses(now)).toEqual(['c offline'])
  })

  test('a sub-device without a connection of its own is connected through its gateway', () => {
    const bench = together()
    const seen = () => {
      const { connected, connectionReason } = bench.view('c') ?? {}
      return [connected, connectionReason]
    }
    expect(seen()).toEqual([true, 'gateway'])
    bench.apply([opened('c', 10)])
    expect(seen()).toEqual([true, 'connect'])
    bench.apply([closed('c', 11, 10)])
    expect(seen()).toEqual([true, 'gateway'])
    // The gateway's newer connection comes before the end of its older one.
    bench.apply([via(opened('c', 12)), via(closed('c', 13, 1))])
    expect(seen()).toEqual([true, 'gateway'])
    bench.apply([via(closed('c', 14, 12))])
    expect(seen()).toEqual([false, 'gateway lost'])
  })

  test('a connection of the gateway does not survive a restart of the service', () => {
    const bench = together()
    const [vitals] = bench
      .work({ vitals: true })
      .vitals.flatMap(({ deviceId, bytes }) => (deviceId === child.id ? [bytes] : []))
    if (vitals === undefined) throw new Error('the sub-device has vitals')
    const same = new ShardBench([child], { vitals })
    expect(same.view('c')).toMatchObject({ connected: true, connectionReason: 'gateway' })
    const next = new ShardBench([child], { vitals, bootAt: at(100) })
    expect(next.view('c')).toMatchObject({ connected: false, connectionReason: 'restart' })
  })
})

describe('what is sent to a sub-device', () => {
  test('a command goes through the gateway, unless the device has a session of its own', () => {
    const bench = together()
    expect(sent(bench.apply([command('c1', 10)]))).toEqual(['gw>c command'])
    bench.apply([opened('c', 11)])
    expect(sent(bench.apply([command('c2', 12)]))).toEqual([])
    // Both commands: the first, which the gateway did not acknowledge, is sent again in the other session.
    expect(sent(bench.apply([listening('c', 13, 11)]))).toEqual(['>c command', '>c command'])
  })

  test('commands wait while it is silent behind its gateway, except critical ones', () => {
    const bench = together()
    bench.apply([via(status('c', 4, 'offline'))])
    expect(sent(bench.apply([command('c1', 5)]))).toEqual([])
    expect(sent(bench.work({ sweep: at(1_000), now: at(1_000) }))).toEqual([])
    expect(sent(bench.apply([command('c2', 1_001, { priority: 'critical' })]))).toEqual(['gw>c command'])
    const answered = on(via(telemetry('c', 1_002, { request_id: 'c2', status: 'completed' })), 'command/ack')
    expect(sent(bench.apply([answered]))).toEqual(['gw>c command'])
  })

  test('a command waits for the gateway’s next session', () => {
    const bench = together()
    bench.apply([via(closed('c', 4, 1))])
    expect(sent(bench.apply([command('c1', 5)]))).toEqual([])
    expect(sent(bench.apply([via(opened('c', 6))]))).toEqual([])
    expect(sent(bench.apply([via(listening('c', 7, 6))]))).toEqual(['gw>c command'])
  })

  test('its desired state is retained for it and for its gateway, and sent to a gateway that connects', () => {
    const bench = family()
    expect(sent(bench.apply([desire(1)]))).toEqual(['>c shadow/desired'])
    const both = ['>c shadow/desired', 'gw>c shadow/desired']
    expect(sent(bench.apply([via(opened('c', 2))]))).toEqual(both)
    expect(sent(bench.apply([request('c', 3, { kind: 'desire', patch: { on: 1 }, mode: 'merge' })]))).toEqual(
      both,
    )
    const asked = bench.apply([
      on(via(telemetry('c', 4, '')), 'shadow/get'),
      on(telemetry('c', 5, ''), 'shadow/get'),
    ])
    expect(sent(asked)).toEqual(['gw>c shadow/get/accepted', '>c shadow/get/accepted'])
    expect(sent(bench.apply([on(via(telemetry('c', 6, '{}')), 'shadow/desired')]))).toEqual(both)
  })
})
