import { describe, expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import type { WorkResult } from './protocol.ts'
import {
  closed,
  deviceOf,
  idOf,
  opened,
  registration,
  request,
  status,
  type TestItem,
  telemetry,
  will,
} from './testing/items.ts'
import { at, online, ShardBench, statuses, TIMEOUT_MS } from './testing/shard.ts'

describe('presence', () => {
  const sweep = (bench: ShardBench, ms: number) => statuses(bench.work({ sweep: at(ms) }))

  test('a device is silent after the timeout and not before', () => {
    const bench = new ShardBench([online])
    bench.apply([telemetry('a', 5_000, { x: 1 })])
    expect([sweep(bench, TIMEOUT_MS + 4_999), sweep(bench, TIMEOUT_MS + 5_000)]).toEqual([[], ['a offline']])
  })

  test('the timeout of the device comes first, then that of its type, then that of the service', () => {
    const typeHeartbeatMs = new Map([[online.type, 10_000]])
    const slow = { ...deviceOf('b', { status: 'online' }), heartbeatTimeoutSec: 900 }
    const bench = new ShardBench([online, slow], { typeHeartbeatMs })
    bench.apply([telemetry('a', 5_000, { x: 1 }), telemetry('b', 5_000, { x: 1 })])
    expect([sweep(bench, 14_999), sweep(bench, 15_000)]).toEqual([[], ['a offline']])
    expect([sweep(bench, 904_999), sweep(bench, 905_000)]).toEqual([[], ['b offline']])
  })

  test('a changed timeout takes effect at once, even for a silence that has begun', () => {
    const bench = new ShardBench([online])
    bench.apply([telemetry('a', 5_000, { x: 1 })])
    bench.apply([request('a', 6_000, { kind: 'edit', replace: false, heartbeatTimeoutSec: 5 })])
    expect([sweep(bench, 9_999), sweep(bench, 10_000)]).toEqual([[], ['a offline']])
    bench.apply([telemetry('a', 11_000, { x: 1 })])
    bench.apply([request('a', 12_000, { kind: 'edit', replace: false, heartbeatTimeoutSec: null })])
    expect([sweep(bench, 16_000), sweep(bench, 11_000 + TIMEOUT_MS)]).toEqual([[], ['a offline']])
  })

  test('neither a restart nor lost time makes a device silent', () => {
    const bench = new ShardBench([deviceOf('a', { status: 'online', seenAt: at(-500_000) })])
    expect(sweep(bench, TIMEOUT_MS - 1)).toEqual([])
    bench.work({ forgiveAt: at(50_000) })
    expect([sweep(bench, 109_999), sweep(bench, 110_000)]).toEqual([[], ['a offline']])
  })

  test('a will is no sign of life, and a will of an earlier session changes nothing', () => {
    const bench = new ShardBench([online])
    bench.apply([status('a', 1, { status: 'online', session_id: 'B' })])
    expect(statuses(bench.apply([will('a', 2, { status: 'offline', session_id: 'A' })]))).toEqual([])
    const gone = bench.apply([will('a', 50_000, { status: 'offline', session_id: 'B' })])
    expect(statuses(gone)).toEqual(['a offline'])
    expect(bench.view('a')?.lastSeenAt).toBe(at(1))
  })

  test('an unreadable will does not affect the message after it', () => {
    const bench = new ShardBench([online, deviceOf('b')])
    const heard = bench.apply([will('a', 1, '{'), telemetry('b', 2, { x: 1 })])
    expect(statuses(heard)).toEqual(['b online'])
  })

  test('the end of a session that was taken over does not end the later one', () => {
    const bench = new ShardBench([online])
    bench.apply([opened('a', 1), opened('a', 2), closed('a', 3, 1)])
    expect(bench.view('a')?.connected).toBe(true)
    bench.apply([closed('a', 4, 2)])
    expect(bench.view('a')).toMatchObject({ connected: false, connectionReason: 'lost' })
  })

  test('the end of a session with an unknown number ends the session that had begun by then, and no later one', () => {
    const bench = new ShardBench([online])
    bench.apply([opened('a', 10), closed('a', 30, 20)])
    expect(bench.view('a')).toMatchObject({ connected: false, connectionReason: 'lost' })
    bench.apply([opened('a', 40), closed('a', 41, 35)])
    expect(bench.view('a')?.connected).toBe(true)
  })

  test('a decommissioned device that still sends or connects is cut off again', () => {
    const gone = deviceOf('a', { status: 'decommissioned', statusSince: at(0) })
    const bench = new ShardBench([gone], { applied: 1 })
    const cuts = (items: readonly TestItem[]) => bench.apply(items).proposal.cuts
    // Sent before it was decommissioned.
    expect(cuts([telemetry('a', 1, { x: 1 })])).toEqual([])
    expect(cuts([telemetry('a', 2, { x: 1 })])).toEqual(['a'])
    expect(cuts([opened('a', 3)])).toEqual(['a'])
    expect(cuts([closed('a', 4, 3)])).toEqual([])
  })

  test('a device that connects with a revoked token is disconnected', () => {
    const bench = new ShardBench([deviceOf('a', { tokensValidFrom: at(5) })])
    const endedBy = (item: TestItem) => bench.apply([item]).proposal.ended
    expect(endedBy(opened('a', 10, Millis(at(5) - 1)))).toEqual(['a'])
    expect(endedBy(opened('a', 11, at(5)))).toEqual([])
    // Connected with a certificate, or through a broker that has checked the token.
    expect(endedBy(opened('a', 12))).toEqual([])
    // The token is the gateway's.
    expect(endedBy({ ...opened('a', 13, at(4)), via: 'gw' })).toEqual([])
  })

  test('a device that connects is shown as online and connected, never as connected and offline', () => {
    const bench = new ShardBench([deviceOf('a')])
    const { feed } = bench.apply([opened('a', 1), closed('a', 2, 1)]).proposal
    expect(
      feed.map(
        (each) => each.kind === 'device' && [each.event, each.view.device.status, each.view.connected],
      ),
    ).toEqual([
      ['device.status', 'online', true],
      ['device.connectivity', 'online', true],
      ['device.connectivity', 'online', false],
    ])
  })

  test('a shard behind its log knows of silence up to what it has read, less what may be unread', () => {
    const bench = new ShardBench([online, deviceOf('b', { status: 'online' })])
    const behind = (ms: number) => statuses(bench.apply([telemetry('b', ms, { x: 1 })], { sweep: 'behind' }))
    expect([behind(TIMEOUT_MS + 4_000), behind(TIMEOUT_MS + 5_000)]).toEqual([[], ['a offline']])
  })

  test('a shard behind its log knows nothing of silence if a lane without a reader may come late', () => {
    const devices = [online, deviceOf('b', { status: 'online' })]
    const bench = new ShardBench(devices, { bootAt: Millis(0) })
    const later = telemetry('b', TIMEOUT_MS + 5_000, { x: 1 })
    expect(statuses(bench.apply([later], { sweep: 'behind' }))).toEqual([])
    expect(statuses(bench.work({ sweep: at(TIMEOUT_MS + 5_000) }))).toEqual(['a offline'])
  })
})

describe('flapping', () => {
  const connects = [1, 2, 3, 4, 5].flatMap((ms) => [opened('a', ms * 10), closed('a', ms * 10 + 5, ms * 10)])
  /** The time of the fifth connect. */
  const LAST_MS = 50
  const isFlapping = (bench: ShardBench, ms: number) => {
    const [view] = bench.ask({ kind: 'views', deviceIds: [idOf('a')] }, { now: at(ms) })
    return view?.flapping
  }
  const told = ({ proposal }: WorkResult) =>
    proposal.feed.flatMap((event) => (event.kind === 'device' ? [[event.event, event.view.flapping]] : []))

  test('begins with the fifth connect, lasts for a while, and its end is told once', () => {
    const bench = new ShardBench([online])
    const connectivity = told(bench.apply(connects))
    expect(connectivity.map(([, flapping]) => flapping)).toEqual([...Array(8).fill(false), true, true])
    const first = 10 + 5 * 60_000 - 4 * 60_000
    expect([isFlapping(bench, LAST_MS), isFlapping(bench, first - 1), isFlapping(bench, first)]).toEqual([
      true,
      true,
      false,
    ])
    const sweeps = [first - 1, first, first + 250].map((ms) =>
      told(bench.work({ sweep: at(ms), now: at(ms) })),
    )
    const moved = (all: unknown[][]) => all.filter(([event]) => event === 'device.connectivity')
    expect(sweeps.map(moved)).toEqual([[], [['device.connectivity', false]], []])
  })

  test('survives the shard, from vitals or from the log, and no connect counts twice (R6)', () => {
    const before = new ShardBench([online])
    before.apply(connects.slice(0, 8))
    const [vitals] = before.work({ vitals: true }).vitals
    const options = { bootAt: at(LAST_MS), ...(vitals && { vitals: vitals.bytes }) }
    const restored = new ShardBench([online], options)
    // Rows were not stored yet, so some entries are read again.
    restored.apply(connects.slice(4, 8))
    expect(isFlapping(restored, LAST_MS)).toBe(false)
    restored.apply(connects.slice(8))
    const replayed = new ShardBench([online], { applied: 1, bootAt: at(LAST_MS + 1) })
    replayed.apply(connects)
    const times = [LAST_MS, 60_009, 60_010, 60_100]
    expect(times.map((ms) => isFlapping(restored, ms))).toEqual([true, true, false, false])
    expect(times.map((ms) => isFlapping(replayed, ms))).toEqual([true, true, false, false])
  })
})

test('the timeline has every change of status with its cause, beginning with the registration', () => {
  const bench = new ShardBench()
  const rows = [
    bench.apply([registration('a', 0)]),
    bench.apply([telemetry('a', 1, { x: 1 })]),
    bench.apply([will('a', 2, { status: 'offline', reason: 'lwt' })]),
    bench.apply([telemetry('a', 3, { x: 1 })]),
    bench.work({ sweep: at(TIMEOUT_MS + 3) }),
    bench.apply([
      request('a', 4, { kind: 'edit', replace: false, status: 'maintenance', statusReason: 'belt' }),
    ]),
  ].flatMap(({ proposal }) => proposal.history.map(({ kind, body }) => ({ kind, ...JSON.parse(body) })))
  const user = { type: 'user', id: 'usr_1' }
  const move = (
    from: string | null,
    to: string,
    cause: string,
    reason: string | null,
    actor: object | null,
  ) => ({
    kind: 'status',
    ...{ from, to, cause, reason, actor },
  })
  expect(rows).toEqual([
    move(null, 'provisioning', 'register', null, user),
    move('provisioning', 'online', 'heartbeat', null, null),
    move('online', 'offline', 'silence', 'lwt', null),
    move('offline', 'online', 'heartbeat', null, null),
    move('online', 'offline', 'silence', 'no heartbeat', null),
    move('offline', 'maintenance', 'maintain', 'belt', user),
  ])
})

describe('diagnostics', () => {
  const diagnosed = (ms: number, level: string) =>
    telemetry('a', ms, { diagnostics: { level, name: 'motor' } })
  const sweep = (bench: ShardBench, ms: number) => statuses(bench.work({ sweep: at(ms) }))

  test('a fault counts at once and ends ten seconds after all faults were reported well', () => {
    const bench = new ShardBench([online])
    expect(statuses(bench.apply([diagnosed(0, 'error')]))).toEqual(['a error'])
    bench.apply([diagnosed(1_000, 'ok')])
    expect([sweep(bench, 10_999), sweep(bench, 11_000)]).toEqual([[], ['a online']])
  })

  test('a fault and its end in one batch are both seen', () => {
    const bench = new ShardBench([online])
    bench.apply([diagnosed(0, 'error'), diagnosed(1, 'warn')])
    expect(sweep(bench, 10_001)).toEqual(['a online'])
  })

  test('a fault that comes back stays, although it was about to end', () => {
    const bench = new ShardBench([online])
    bench.apply([diagnosed(0, 'error')])
    bench.apply([diagnosed(1_000, 'ok')])
    bench.apply([diagnosed(2_000, 'error')])
    expect(sweep(bench, 30_000)).toEqual([])
    bench.apply([diagnosed(31_000, 'ok')])
    expect([sweep(bench, 40_999), sweep(bench, 41_000)]).toEqual([[], ['a online']])
  })

  const said = (ms: number, levels: Readonly<Record<string, number>>) =>
    telemetry('a', ms, { diagnostics: Object.entries(levels).map(([name, level]) => ({ level, name })) })

  test('every named fault must be reported well, and messages about other names do not matter', () => {
    const bench = new ShardBench([online])
    bench.apply([said(0, { motor: 2, lidar: 3, battery: 0 })])
    expect(bench.view('a')?.device.issues).toEqual(['lidar', 'motor'])
    bench.apply([said(1_000, { battery: 0 }), said(1_001, { motor: 0 })])
    expect(sweep(bench, 20_000)).toEqual([])
    bench.apply([said(21_000, { lidar: 1 })])
    expect([sweep(bench, 30_999), sweep(bench, 31_000)]).toEqual([[], ['a online']])
    expect(bench.view('a')?.device.issues).toEqual([])
  })

  test('an entry without a name is a fault of its own', () => {
    const bench = new ShardBench([online])
    const unnamed = (ms: number, level: number) =>
      telemetry('a', ms, { diagnostics: { level, message: 'x' } })
    bench.apply([unnamed(0, 2), said(1, { motor: 2 }), said(2, { motor: 0 })])
    expect(sweep(bench, 20_000)).toEqual([])
    bench.apply([unnamed(21_000, 0)])
    expect(sweep(bench, 31_000)).toEqual(['a online'])
  })

  test('a restart knows which faults were reported well, from vitals or from the log (R6)', () => {
    const before = new ShardBench([online])
    before.apply([said(0, { motor: 2, lidar: 2 }), said(1, { motor: 0 })])
    const [vitals] = before.work({ vitals: true }).vitals
    const faulty = deviceOf('a', {
      status: 'error',
      issues: ['motor', 'lidar'],
      faultNames: ['motor', 'lidar'],
    })
    const restored = new ShardBench([faulty], vitals === undefined ? {} : { vitals: vitals.bytes })
    const replayed = new ShardBench([faulty], { applied: 1 })
    replayed.apply([said(0, { motor: 2, lidar: 2 }), said(1, { motor: 0 })])
    for (const bench of [restored, replayed]) {
      expect(sweep(bench, 20_000)).toEqual([])
      bench.apply([said(21_000, { lidar: 0 })])
      expect([sweep(bench, 30_999), sweep(bench, 31_000)]).toEqual([[], ['a online']])
    }
  })

  test('a fault in a record that was saved without names is named by its text', () => {
    const bench = new ShardBench([deviceOf('a', { status: 'error', issues: ['motor: hot'] })])
    bench.apply([said(0, { lidar: 0 })])
    expect(sweep(bench, 10_000)).toEqual([])
    bench.apply([said(11_000, { motor: 0 })])
    expect(sweep(bench, 21_000)).toEqual(['a online'])
  })

  test('a restart keeps the time at which a fault ends, from vitals or from the log (R6)', () => {
    const before = new ShardBench([online])
    before.apply([diagnosed(0, 'error')])
    before.apply([diagnosed(1_000, 'ok')])
    const [vitals] = before.work({ vitals: true }).vitals
    const faulty = deviceOf('a', { status: 'error' })
    const restored = new ShardBench([faulty], vitals === undefined ? {} : { vitals: vitals.bytes })
    expect([sweep(restored, 10_999), sweep(restored, 11_000)]).toEqual([[], ['a online']])
    const replayed = new ShardBench([faulty], { applied: 2 })
    replayed.apply([diagnosed(0, 'error')])
    replayed.apply([diagnosed(1_000, 'ok')])
    expect([sweep(replayed, 10_999), sweep(replayed, 11_000)]).toEqual([[], ['a online']])
  })
})

test('a device loaded with vitals of an earlier run is no longer connected', () => {
  const before = new ShardBench([online])
  before.apply([opened('a', 1), telemetry('a', 2, { x: 1 })])
  const [vitals] = before.work({ vitals: true }).vitals
  const later = new ShardBench([online], { bootAt: at(5_000), ...(vitals && { vitals: vitals.bytes }) })
  expect(later.view('a')).toMatchObject({
    connected: false,
    connectionReason: 'restart',
    lastSeenAt: at(2),
  })
})
