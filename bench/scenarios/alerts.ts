// Measures alert rules: their effect on ingest, a storm of alerts, and the latency to a webhook.
import { Histogram } from '../../engine/edge/histogram.ts'
import { expectedOf, waitForRows } from '../load/count.ts'
import { type DeviceLogin, DeviceSocket } from '../load/device-socket.ts'
import type { Generator } from '../load/generator.ts'
import { encodePublish, encodeRing } from '../load/packets.ts'
import { placesFor } from '../load/places.ts'
import type { RunResult } from '../load/protocol.ts'
import { deviceIds, type Session, withGenerator, withSession } from '../load/session.ts'
import { WebhookSink } from '../load/webhook-sink.ts'
import { cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { sleep, ticks, until } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { ringFor, windowFor } from './ingest.ts'
import { judging, thresholds } from './judging.ts'

const INGESTING = 1_000
const RULES = 20
const WARM_UP_MS = 1_500
const OTHERS = 100
/** Devices for the critical alerts, with a few to spare. */
const PROBES = 300
const OTHERS_PER_SEC = 500
const CONNECTS_AT_ONCE = 256
const API = '/api/v1/alerts'
const POLLING = { deadlineMs: 120_000, everyMs: 100 }
/** A channel may send 600 messages a minute, so this must stay below ten a second. */
const CRITICAL_PER_SEC = 8

export const alerts: Scenario = {
  name: 'alerts',
  about: 'cost of alert rules per message, 10 000 alerts in a second, and the time to a webhook',
  async run(bench) {
    await judging(bench)
    await bench.withDir((dataDir) =>
      withSession({ dataDir, durability: 'power', devices: INGESTING }, (session) =>
        besideIngest(bench, session),
      ),
    )
    const sink = await WebhookSink.open()
    const devices = bench.quick ? 1_000 : placesFor(10_000, OTHERS + PROBES)
    try {
      await bench.withDir((dataDir) =>
        withSession({ dataDir, durability: 'power', devices, webhookAllow: sink.address }, (session) =>
          withGenerator(async (others) => {
            await openAll(session, others)
            await storm(bench, { session, others, sink })
            await toWebhook(bench, { session, others, sink })
          }),
        ),
      )
    } finally {
      sink.close()
    }
  },
}

/** Compares the same load with and without rules whose alerts never change. Runs alternate, so that a busy machine slows
 *  down both. */
async function besideIngest(bench: Bench, session: Session): Promise<void> {
  const { service, rest, devices, generator } = session
  const ids = devices.map(({ id }) => id)
  const window = windowFor(INGESTING)
  await generator.open({
    ...{ ...service.mqtt, devices, connectsAtOnce: CONNECTS_AT_ONCE },
    ...{ ringSize: ringFor(INGESTING), greet: false },
  })
  const runs: RunResult[] = []
  const run = async (durationMs: number): Promise<{ readonly micros: number; readonly rate: number }> => {
    const before = sampleCpu(service.pid)
    const result = await generator.closed({ window, durationMs, messagesPerDevice: undefined })
    runs.push(result)
    const storedAt = await waitForRows(rest, expectedOf(ids, runs))
    const { totalMicros, childrenMicros } = cpuBetween(before, sampleCpu(service.pid))
    const rate = (1_000 * result.messages) / (storedAt - result.firstSentAt)
    // ClickHouse is not included, because the cost of its merges varies independently of the rules.
    return { micros: (totalMicros - childrenMicros) / result.messages, rate }
  }
  const durationMs = bench.quick ? 3_000 : 5_000
  const noise = new NoiseMeter()
  const without: Awaited<ReturnType<typeof run>>[] = []
  const ruled: typeof without = []
  for (let round = 0; round < 3; round++) {
    await run(WARM_UP_MS)
    without.push(await run(durationMs))
    const made = await Promise.all(thresholds(RULES).map((rule) => rest.post(`${API}/rules`, rule)))
    // By then the one-time cost of new rules is over.
    await run(WARM_UP_MS)
    ruled.push(await run(durationMs))
    // The answer is a rule.
    const rules = made.map((text) => (JSON.parse(text) as { readonly rule_id: string }).rule_id)
    await Promise.all(rules.map((id) => rest.remove(`${API}/rules/${id}`)))
  }
  const least = (of: typeof without) => Math.min(...of.map(({ micros }) => micros))
  const most = (of: typeof without) => Math.max(...of.map(({ rate }) => rate))
  bench.add({
    scenario: `ingest with ${RULES} rules`,
    name: 'compared with no rule',
    value: (100 * least(without)) / least(ruled),
    unit: '%',
    target: { kind: 'at_least', value: 90 },
    note:
      `CPU per message of the service without ClickHouse, the best of 3 runs each: ${toDigits(least(without))} µs without and ` +
      `${toDigits(least(ruled))} µs with rules; messages/s ${toDigits(most(without))} and ` +
      `${toDigits(most(ruled))}, ${toDigits(INGESTING)} sockets${noise.note()}`,
  })
}

interface Place {
  readonly session: Session
  /** Devices without rules, whose latency is measured. */
  readonly others: Generator
  readonly sink: WebhookSink
}

async function openAll({ service, rest, devices, generator }: Session, others: Generator): Promise<void> {
  const sockets = { ...service.mqtt, connectsAtOnce: CONNECTS_AT_ONCE, ringSize: 256, greet: false }
  const bystanders = await rest.register(deviceIds(OTHERS, 'other'), 'others')
  await others.open({ ...sockets, devices: bystanders })
  await generator.open({ ...sockets, devices, ringSize: 16 })
}

/** Makes every device exceed the threshold of its rule within the same second. */
async function storm(bench: Bench, { session, others, sink }: Place): Promise<void> {
  const { rest, devices, generator } = session
  const url = `http://${sink.address}/storm`
  const channel = await rest.post(`${API}/channels`, { type: 'webhook', url })
  await rest.post(`${API}/rules`, {
    name: 'weak signal',
    target: { type: 'group', value: 'bench' },
    // Every value of the load fulfils this condition.
    condition: { kind: 'threshold', metric: 'rssi', op: '<', value: 0 },
    // The answer is a channel.
    channels: [(JSON.parse(channel) as { readonly channel_id: string }).channel_id],
  })
  const noise = new NoiseMeter()
  const burst = () => generator.paced({ ...{ messagesPerSec: devices.length, durationMs: 1_000 }, ...ONCE })
  const watch = () => others.paced({ ...{ messagesPerSec: OTHERS_PER_SEC, durationMs: 5_000 }, ...ONCE })
  const [run, felt, savedAt] = await Promise.all([
    burst(),
    watch(),
    until('every alert is saved', POLLING, async () =>
      // The answer is a summary.
      (JSON.parse(await rest.text(`${API}/summary`)) as Summary).by_state.firing.warning >= devices.length
        ? ticks()
        : undefined,
    ),
  ])
  const told = () => sink.told('alert.fired') + sink.told('alert.digest')
  const toldAt = await until('all are told', POLLING, async () =>
    told() >= devices.length ? ticks() : undefined,
  )
  const count = sink.received.length
  const [, calm] = await Promise.all([burst(), watch()])
  const scenario = `${toDigits(devices.length)} alerts in a second`
  const seconds = (at: number) => (at - run.firstSentAt) / 1_000
  bench.add(
    {
      scenario,
      name: 'all are saved',
      value: seconds(savedAt),
      unit: 's',
      target: { kind: 'at_most', value: 5 },
      note: `from the first publish; the last PUBACK after ${toDigits(seconds(run.lastAckedAt))} s${noise.note()}`,
    },
    {
      scenario,
      name: 'messages to the channel',
      value: count,
      unit: '',
      target: { kind: 'at_most', value: 12 },
      note: `until all ${toDigits(told())} are told, after ${toDigits(seconds(toldAt))} s`,
    },
    {
      scenario,
      name: 'PUBACK p99 of other devices',
      value: felt.latencyMicros.p99 / calm.latencyMicros.p99,
      unit: '×',
      target: { kind: 'at_most', value: 2 },
      note:
        `${toDigits(felt.latencyMicros.p99 / 1_000)} ms, and ${toDigits(calm.latencyMicros.p99 / 1_000)} ms with as ` +
        `many messages that move nothing; ${OTHERS_PER_SEC} messages/s of ${OTHERS} devices for 5 s`,
    },
  )
}

const ONCE = { burst: 1, probe: undefined } as const

interface Summary {
  readonly by_state: { readonly firing: { readonly warning: number } }
}

/** Makes critical alerts fire one after the other, while other devices send messages. */
async function toWebhook(bench: Bench, { session, others, sink }: Place): Promise<void> {
  const { service, rest } = session
  const count = bench.quick ? 40 : 200
  const url = `http://${sink.address}/critical`
  const settings = { type: 'webhook', url, rate_per_minute: 600, send_resolved: false }
  const channel = await rest.post(`${API}/channels`, settings)
  await rest.post(`${API}/rules`, {
    ...{ name: 'hot', severity: 'critical', group_by: 'none', target: { type: 'group', value: 'probes' } },
    condition: { kind: 'threshold', metric: 'heat', op: '>', value: 90 },
    // The answer is a channel.
    channels: [(JSON.parse(channel) as { readonly channel_id: string }).channel_id],
  })
  const probes = await rest.register(deviceIds(count, 'probe'), 'probes')
  const sockets = await Promise.all(probes.map((device) => openProbe(service.mqtt, device)))
  const durationMs = (1_000 * count) / CRITICAL_PER_SEC
  const noise = new NoiseMeter()
  const beside = others.paced({ messagesPerSec: OTHERS_PER_SEC, durationMs, ...ONCE })
  const sentAt = new Map<string, number>()
  const startedAt = ticks()
  for (const [at, socket] of sockets.entries()) {
    await sleep(Math.max(0, startedAt + (1_000 * at) / CRITICAL_PER_SEC - ticks()))
    const { id } = socket.device
    sentAt.set(id, ticks())
    const topic = `fleet/${id}/telemetry`
    socket.sendOwn(
      (packetId) => encodePublish({ topic, payload: Buffer.from('{"heat":95.5}'), packetId }),
      ticks(),
    )
  }
  await beside
  const arrived = () => sink.received.filter(({ deviceId }) => sentAt.has(deviceId ?? ''))
  await until('every webhook', POLLING, async () => arrived().length >= count || undefined)
  for (const socket of sockets) socket.close()
  const latency = new Histogram()
  for (const { at, deviceId } of arrived()) latency.record((at - (sentAt.get(deviceId ?? '') ?? at)) * 1_000)
  const { p50, p99, max } = latency.percentiles()
  bench.add({
    scenario: 'critical alerts, one by one',
    name: 'publish → webhook p99',
    value: p99 / 1_000,
    unit: 'ms',
    target: { kind: 'at_most', value: 1_000 },
    note:
      `p50 ${toDigits(p50 / 1_000)}, max ${toDigits(max / 1_000)} ms of ${arrived().length}, ${CRITICAL_PER_SEC} a second, ` +
      `beside ${OTHERS_PER_SEC} messages/s of ${OTHERS} devices${noise.note()}`,
  })
}

function openProbe(
  { host, port }: { readonly host: string; readonly port: number },
  device: DeviceLogin,
): Promise<DeviceSocket> {
  const topic = `fleet/${device.id}/telemetry`
  const ring = encodeRing({ topic, payloads: [Buffer.from('{}')], offset: 0, size: 16 })
  return DeviceSocket.open({ host, port, device, ring, keepAliveSec: 1200 })
}
