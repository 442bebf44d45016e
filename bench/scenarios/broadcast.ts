// Sends one command to a whole fleet. Measures how soon all devices have it, and how much it slows down other work.

import type { Percentiles } from '../../engine/edge/histogram.ts'
import { Histogram } from '../../engine/edge/histogram.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { Generator } from '../load/generator.ts'
import { placesFor } from '../load/places.ts'
import { RestLines } from '../load/rest-lines.ts'
import { deviceIds, type Session, withGenerator, withSession } from '../load/session.ts'
import { sleep, ticks, until } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'

const OTHERS = 100
const MESSAGES_PER_SEC = 500
const READS_PER_SEC = 100
const CONNECTS_AT_ONCE = 256
const REACHED_MS = 60_000
const COMPLETED_MS = 60_000

export const broadcast: Scenario = {
  name: 'broadcast',
  about: 'a command to thousands of connected devices, and the PUBACK and REST latency of others meanwhile',
  async run(bench) {
    const devices = bench.quick ? 1_000 : placesFor(10_000, OTHERS)
    await bench.withDir((dataDir) =>
      withSession({ dataDir, durability: 'power', devices }, (session) =>
        withGenerator((others) => measure(bench, session, others)),
      ),
    )
  },
}

async function measure(bench: Bench, session: Session, publishers: Generator): Promise<void> {
  const { service, rest, devices, generator } = session
  const others = await rest.register(deviceIds(OTHERS, 'other'), 'others')
  const sockets = { ...service.mqtt, connectsAtOnce: CONNECTS_AT_ONCE }
  await publishers.open({ ...sockets, devices: others, ringSize: 256, greet: false })
  await generator.listen({ ...sockets, devices })
  const watch = (durationMs: number): Promise<OtherDelays> => watchOthers(session, publishers, durationMs)
  const calm = await watch(bench.quick ? 1_000 : 3_000)

  const noise = new NoiseMeter()
  const watching = watch(bench.quick ? 2_000 : 10_000)
  const reaching = generator.orders({ deadlineMs: REACHED_MS })
  const startedAt = ticks()
  const id = await rest.broadcast('bench', 'ping')
  const answeredAt = ticks()
  const polling = { deadlineMs: COMPLETED_MS, everyMs: 250 }
  const reached = await reaching
  const completing = until('all completed', polling, async () =>
    (await rest.completedOf(id)) >= devices.length ? ticks() : undefined,
  )
  const [felt, completedAt] = await Promise.all([watching, completing])
  const seconds = (at: number): number => (at - startedAt) / 1000
  const scenario = `broadcast to ${toDigits(devices.length)} devices`
  bench.add({
    scenario,
    name: 'all devices have it',
    value: reached.reached === devices.length ? seconds(reached.lastAt) : Number.NaN,
    unit: 's',
    target: { kind: 'at_most', value: 10 },
    note:
      `${toDigits(reached.reached)} devices received ${toDigits(reached.commands)} commands; sent at ${toDigits(LIMITS.broadcastPerSecDefault)} a second; ` +
      `202 after ${toDigits(seconds(answeredAt))} s, all answered and counted after ${toDigits(seconds(completedAt))} s${noise.note()}`,
  })
  addOthers(bench, scenario, { calm, felt })
}

interface OtherDelays {
  readonly puback: Percentiles
  readonly rest: Percentiles
}

async function watchOthers(
  session: Session,
  publishers: Generator,
  durationMs: number,
): Promise<OtherDelays> {
  const run = publishers.paced({ messagesPerSec: MESSAGES_PER_SEC, durationMs, burst: 1, probe: undefined })
  const [{ latencyMicros }, rest] = await Promise.all([run, timeReads(session, durationMs)])
  return { puback: latencyMicros, rest }
}

/** Reads one device on a fixed schedule. */
async function timeReads({ service, rest }: Session, durationMs: number): Promise<Percentiles> {
  const lines = await RestLines.open({ httpUrl: service.httpUrl, token: rest.token }, 8)
  const latency = new Histogram()
  const path = `/api/v1/devices/${deviceIds(1, 'other')[0]}`
  const startedAt = ticks()
  const reads: Promise<void>[] = []
  const readOnce = async (at: number): Promise<void> => {
    const reply = await lines.send({ method: 'GET', path })
    if (reply.status !== 200) throw new Error(`GET ${path}: ${reply.status}`)
    latency.record((reply.at - at) * 1000)
  }
  try {
    while (ticks() < startedAt + durationMs) {
      const due = Math.floor(((ticks() - startedAt) * READS_PER_SEC) / 1000)
      while (reads.length < due) reads.push(readOnce(startedAt + (reads.length * 1000) / READS_PER_SEC))
      await sleep(1)
    }
    await Promise.all(reads)
    return latency.percentiles()
  } finally {
    lines.close()
  }
}

function addOthers(
  bench: Bench,
  scenario: string,
  { calm, felt }: { readonly calm: OtherDelays; readonly felt: OtherDelays },
): void {
  const add = (name: string, before: Percentiles, { p50, p99, max, count }: Percentiles, how: string): void =>
    bench.add({
      scenario,
      name,
      value: p99 / 1000,
      unit: 'ms',
      note:
        `p50 ${toDigits(p50 / 1000)}, max ${toDigits(max / 1000)} ms of ${toDigits(count)}, ${how}; ` +
        `p99 before the broadcast ${toDigits(before.p99 / 1000)} ms, so ${toDigits(p99 / before.p99)} times that`,
    })
  add(
    'PUBACK p99 of other devices',
    calm.puback,
    felt.puback,
    `${MESSAGES_PER_SEC} messages/s of ${OTHERS} devices`,
  )
  add('REST p99 of other requests', calm.rest, felt.rest, `${READS_PER_SEC} GET /devices/{id} a second`)
}
