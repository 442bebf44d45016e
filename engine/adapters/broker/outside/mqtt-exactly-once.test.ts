// Readers die between append and PUBACK, or before the append. Every message is in the log, and counts once.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Micros, Millis, Partition } from '../../../../schemas/ids.ts'
import { partitionOf } from '../../../domain/partition.ts'
import { CONNACK } from '../../../ports/broker.ts'
import { Fault } from '../../../ports/fault.ts'
import type { Bundle } from '../../../ports/log.ts'
import { Gateways } from '../../../runtime/ingress/gateways.ts'
import { Ingest } from '../../../runtime/ingress/ingest.ts'
import { uplinkHost } from '../../../runtime/ingress/uplink-host.ts'
import { realSchedule } from '../../../runtime/schedule.ts'
import { deviceOf } from '../../../runtime/shard/testing/items.ts'
import { ShardBench, valuesOf } from '../../../runtime/shard/testing/shard.ts'
import { Dice } from '../../../sim/dice.ts'
import { MemoryLog } from '../../log/testing/memory.ts'
import { MemoryStore } from '../../store/testing/memory.ts'
import { MOSQUITTO } from '../testing/emqx/stand-in.ts'
import { until } from '../testing/fake-host.ts'
import { ALL_LANES, MqttStage } from '../testing/outside-broker.ts'
import type { MqttBroker } from './mqtt.ts'

const ONE = Partition(0)
const DEVICES = ['a', 'b', 'c', 'd', 'e']
const MESSAGES = 300
const DEATHS = 12

/** The bundles of all readers, in order. */
class SharedLog {
  readonly bodies: Uint8Array[] = []
}

/** The log of one reader. After the reader's death nothing more reaches it. */
class ReadersLog extends MemoryLog {
  readonly #shared: SharedLog
  isDead = false
  /** If true, the next append is stored and never confirmed. */
  isDying = false

  constructor(shared: SharedLog) {
    super()
    this.#shared = shared
  }

  override async append(bundles: readonly Bundle[], latestAt: Micros): Promise<readonly number[]> {
    if (this.isDead) throw new Fault('LOG_UNAVAILABLE', { retryable: false })
    this.#shared.bodies.push(...bundles.map(({ body }) => body))
    this.isDead = this.isDying
    if (this.isDead) await new Promise(() => {})
    return super.append(bundles, latestAt)
  }
}

describe.skipIf(MOSQUITTO === undefined)('every message from a broker outside counts once', () => {
  let stage: MqttStage
  const shared = new SharedLog()

  beforeEach(async () => {
    stage = await MqttStage.open()
  })
  afterEach(() => stage.close())

  async function openReader(): Promise<{ broker: MqttBroker; log: ReadersLog; ingest: Ingest }> {
    const clock = { now: () => Millis(Date.now()), ticks: () => performance.now() }
    const log = new ReadersLog(shared)
    const ingest = new Ingest({ log, clock, schedule: realSchedule, fatal: () => {} })
    const host = uplinkHost(ingest, new Gateways(ingest, new MemoryStore({ partitionOf }).devices), {
      admit: async () => ({ kind: 'denied', code: CONNACK.unauthorized, reason: '' }),
      recordRefusal: () => {},
      heard: () => {},
      subscribed: () => {},
      tokens: { requested: () => {}, expiring: () => {} },
    })
    return { broker: await stage.broker(host, ALL_LANES, { partitionOf: () => ONE }), log, ingest }
  }

  test('every message counts once although readers die again and again, before or after the append', async () => {
    const dice = new Dice(7)
    let reader = await openReader()
    let published = 0
    const publishing = DEVICES.map(async (name, index) => {
      const device = await stage.device(name)
      for (let n = 0; n < MESSAGES; n++) {
        await device.publishAsync(`fleet/${name}/telemetry`, JSON.stringify({ n: index * MESSAGES + n }), {
          qos: 1,
        })
        published++
      }
    })
    for (let death = 1; death <= DEATHS; death++) {
      const goal = Math.floor((DEVICES.length * MESSAGES * death) / (DEATHS + 1))
      await until(() => published >= goal, 'more messages', 60_000)
      const { log } = reader
      log.isDying = dice.chance(0.7)
      if (log.isDying) await until(() => log.isDead, 'its last append')
      log.isDead = true
      await reader.broker.close()
      reader = await openReader()
    }
    await Promise.all(publishing)
    await until(() => reader.broker.counts().outside?.unacknowledged === 0, 'the rest')
    await reader.ingest.drain()
    const bench = new ShardBench(DEVICES.map((name) => deviceOf(name)))
    shared.bodies.forEach((body, seq) => {
      bench.work({ entries: [{ partition: bench.entry(1, []).partition, seq: seq + 1, body }] })
    })
    const { counts } = bench.work()
    expect(counts.refused).toBe(0)
    const stored = valuesOf(bench.rows()).map(Number)
    expect(stored.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: DEVICES.length * MESSAGES }, (_, n) => n),
    )
    for (const [index] of DEVICES.entries()) {
      const own = stored.filter((n) => Math.floor(n / MESSAGES) === index)
      expect(own).toEqual(own.toSorted((a, b) => a - b))
    }
  })
})
