import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { type DeviceId, Micros, Millis } from '../../../schemas/ids.ts'
import { MemoryLog } from '../../adapters/log/testing/memory.ts'
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { ITEM, readItems } from '../../domain/bundle.ts'
import type { Device } from '../../domain/device/record.ts'
import { toRecord } from '../../domain/device/record.ts'
import { partitionOf } from '../../domain/partition.ts'
import { CONNACK, type DeviceSession, type UplinkMessage } from '../../ports/broker.ts'
import type { Bundle } from '../../ports/log.ts'
import { NO_SAVE } from '../../ports/store.ts'
import { SimTime } from '../../testing/time.ts'
import { deviceOf, idOf } from '../shard/testing/items.ts'
import { Gateways } from './gateways.ts'
import { Ingest } from './ingest.ts'
import { uplinkHost } from './uplink-host.ts'

const NAMES = Object.fromEntries(Object.entries(ITEM).map(([name, kind]) => [kind, name]))
const gw = deviceOf('gw', { type: 'gateway' })
const subDevice = (id: string, fields: Partial<Device> = {}) => deviceOf(id, { parentId: gw.id, ...fields })

class RecordingLog extends MemoryLog {
  readonly lines: string[] = []

  override async append(bundles: readonly Bundle[], latestAt: Micros): Promise<readonly number[]> {
    for (const { partition, body } of bundles)
      for (const { kind, id, via, suffix } of readItems(body)) {
        const device = Buffer.from(id).toString()
        const way = via.length === 0 ? '' : ` via ${Buffer.from(via).toString()}`
        const isRight = partition === partitionOf(idOf(device))
        this.lines.push(`${NAMES[kind]} ${device}${way} ${Buffer.from(suffix).toString()}`.trim())
        if (!isRight) this.lines.push(`in another device’s partition: ${device}`)
      }
    return super.append(bundles, latestAt)
  }
}

interface TestSession extends DeviceSession {
  readonly filters: string[]
  acknowledged: number
  isAssumed: boolean
}

async function setUp(...devices: readonly Device[]) {
  const time = new SimTime(Millis(1_000_000))
  const log = new RecordingLog()
  const store = new MemoryStore({ partitionOf })
  const save = (more: readonly Device[]) => store.save({ ...NO_SAVE, changed: more.map(toRecord) })
  await save([gw, ...devices])
  const ingest = new Ingest({ log, clock: time, schedule: time.newIncarnation().schedule, fatal: () => {} })
  const gateways = new Gateways(ingest, store.devices)
  const host = uplinkHost(ingest, gateways, {
    admit: async () => ({ kind: 'denied', code: CONNACK.unauthorized, reason: '' }),
    recordRefusal: () => {},
    heard: () => {},
    subscribed: () => {},
    tokens: { requested: () => {}, expiring: () => {} },
  })
  /** The items that came into the log since the last call. */
  const lines = async () => {
    await time.advance(10)
    return log.lines.splice(0)
  }
  return { save, gateways, host, lines }
}

let numbers = 0
function session(deviceId: DeviceId = gw.id): TestSession {
  const filters: string[] = []
  return {
    deviceId,
    partition: partitionOf(deviceId),
    number: Micros(++numbers),
    ip: '127.0.0.1',
    idBytes: Buffer.from(deviceId),
    filters,
    acknowledged: 0,
    isAssumed: false,
    takes: (suffix) => filters.includes(suffix),
    durable(count) {
      this.acknowledged += count
    },
  }
}

const message = (suffix: string, more: Partial<UplinkMessage> = {}): UplinkMessage => ({
  suffix,
  payload: Buffer.from('1'),
  qos: 1,
  retain: false,
  will: false,
  ...more,
})

test('a gateway’s message goes to its sub-device’s partition and is a sign of life of the gateway', async () => {
  const { host, lines } = await setUp(subDevice('c1'), subDevice('c2'))
  const live = session()
  host.opened(live)
  expect((await lines()).sort()).toEqual(['opened c1 via gw', 'opened c2 via gw', 'opened gw'])
  host.uplink(live, message('sub/c1/telemetry'))
  host.uplink(live, message('telemetry'))
  host.uplink(live, message('sub/c2/shadow/reported'))
  expect((await lines()).sort()).toEqual([
    'heard gw',
    'message c1 via gw telemetry',
    'message c2 via gw shadow/reported',
    'message gw telemetry',
  ])
  expect(live.acknowledged).toBe(3)
  host.uplink(live, message('sub/c1/status', { will: true }))
  expect(await lines()).toEqual(['message c1 via gw status'])
})

test('sub-devices are told of the gateway’s sessions and subscriptions, each once', async () => {
  const { host, lines } = await setUp(subDevice('c1'), subDevice('c2', { status: 'decommissioned' }))
  const live = session()
  host.opened(live)
  await lines()
  live.filters.push('sub/c2/command')
  host.subscribed(live)
  expect(await lines()).toEqual([])
  live.filters.push('sub/c1/command', 'command')
  host.subscribed(live)
  host.subscribed(live)
  expect((await lines()).sort()).toEqual(['listening c1 via gw', 'listening gw'])
  host.closed(live, 'lost')
  host.closed(live, 'lost')
  expect((await lines()).filter((line) => line.includes('via'))).toEqual(['closed c1 via gw'])
})

test('a sub-device registered later is told with its first message, and a stranger is told nothing', async () => {
  const { host, lines, save } = await setUp(deviceOf('stranger'))
  const live = session()
  host.opened(live)
  live.filters.push('sub/c3/command')
  host.subscribed(live)
  await lines()
  await save([subDevice('c3')])
  host.uplink(live, message('sub/c3/telemetry'))
  host.uplink(live, message('sub/c3/telemetry'))
  host.uplink(live, message('sub/stranger/telemetry'))
  expect((await lines()).filter((line) => line.includes('via'))).toEqual([
    'opened c3 via gw',
    'listening c3 via gw',
    'message c3 via gw telemetry',
    'message c3 via gw telemetry',
    'message stranger via gw telemetry',
  ])
  // The stranger does not count as a sender.
  expect(host.sendersOf?.(live)).toBe(2)
  host.closed(live, 'lost')
  expect((await lines()).filter((line) => line.includes('via'))).toEqual(['closed c3 via gw'])
})

test('a decommissioned sub-device is told of the end of the session, and nothing after that', async () => {
  const { host, gateways, lines, save } = await setUp(subDevice('c1'))
  const live = session()
  host.opened(live)
  await lines()
  await save([subDevice('c1', { status: 'decommissioned' })])
  gateways.forget(idOf('c1'))
  host.uplink(live, message('sub/c1/log'))
  expect((await lines()).filter((line) => line.includes('c1'))).toEqual([
    'closed c1 via gw',
    'message c1 via gw log',
  ])
  host.closed(live, 'lost')
  expect(await lines()).toEqual(['closed gw'])
})

test('messages of a device that is no gateway, and messages that name no sub-device, stay with their sender', async () => {
  const { host, lines } = await setUp(subDevice('c1'), deviceOf('plain'))
  const [plain, live] = [session(idOf('plain')), session()]
  host.opened(plain)
  host.opened(live)
  await lines()
  host.uplink(plain, message('sub/c1/telemetry'))
  host.uplink(live, message('sub/c1'))
  expect((await lines()).sort()).toEqual(['message gw sub/c1', 'message plain sub/c1/telemetry'])
  expect([plain.acknowledged, live.acknowledged]).toEqual([1, 1])
})

test('sub-devices of a gateway that connected at another node are told of its subscriptions and its end', async () => {
  const { host, lines } = await setUp(subDevice('c1'), subDevice('c2'))
  const live = session()
  live.isAssumed = true
  host.uplink(live, message('sub/c1/telemetry'))
  expect((await lines()).sort()).toEqual(['heard gw', 'message c1 via gw telemetry'])
  live.filters.push('sub/c1/command')
  host.subscribed(live)
  expect(await lines()).toEqual(['listening c1 via gw'])
  host.closed(live, 'lost')
  expect((await lines()).sort()).toEqual(['closed c1 via gw', 'closed c2 via gw', 'closed gw'])
})

test('the end of a gateway’s session that goes on at another node is not told to sub-devices here', async () => {
  const { host, lines } = await setUp(subDevice('c1'))
  const live = session()
  host.opened(live)
  await lines()
  host.left(live)
  host.closed(live, 'lost')
  expect(await lines()).toEqual(['closed gw'])
})

test('an acknowledgement goes to the device that the command was for', async () => {
  const { host, lines } = await setUp(subDevice('c1'))
  const live = session()
  host.delivered(live, 'command', 'cmd_1')
  host.delivered(live, 'sub/c1/command', 'cmd_2_cancel')
  host.delivered(live, 'shadow/desired', 'cmd_3')
  expect((await lines()).sort()).toEqual(['delivered c1', 'delivered gw'])
})
