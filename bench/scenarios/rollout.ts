// Measures a rollout to thousands of devices that take two seconds each: its duration, its cost to the service, and its
// effect on the telemetry of other devices.
import { join } from 'node:path'
import { placesFor } from '../load/places.ts'
import type { Rest } from '../load/rest.ts'
import { deviceIds, withGenerator, withService } from '../load/session.ts'
import { allOnline, deploy, type OpenPlace, startSimulated, uploadImage } from '../load/simulated.ts'
import { cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { sleep, ticks, until } from '../measure/deadline.ts'
import { watchGrowth } from '../measure/memory.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'

const FEW = 100
const OTHERS = 100
const MESSAGES_PER_SEC = 2_000
const CALM_MS = 5_000
const WATCHED_MS = 10_000
const SETTLED_MS = 5_000
/** The installation takes this long, and the restart as well. */
const STEP_SEC = 1
const POLLING = { deadlineMs: 600_000, everyMs: 250 }
const MIB = 2 ** 20

export const rollout: Scenario = {
  name: 'rollout',
  about:
    'firmware to thousands of devices of two seconds each: time, CPU, memory, and the PUBACK latency of others',
  async run(bench) {
    const count = bench.quick ? 1_000 : placesFor(10_000, FEW + OTHERS)
    await bench.withDir(async (dir) => {
      const more = { FLEET_OTA_DOWNLOADS_MAX: '1000' } as const
      await withService(
        { dataDir: join(dir, 'data'), durability: 'power', more },
        async ({ service, rest }) => {
          const at = { bench, dir, service, rest }
          await uploadImage(at, { version: '2.0.0', bytes: 16_384 })
          const devices = startSimulated(at, scenarioOf(count))
          await allOnline(at, { group: 'bench/many', count })
          await allOnline(at, { group: 'bench/few', count: FEW })
          await sleep(SETTLED_MS)
          await notify(at)
          await rollOut(at, count)
          await devices.child.kill('SIGINT')
        },
      )
    })
  },
}

interface Scene extends OpenPlace {
  readonly bench: Bench
}

/** Describes devices that report almost only the progress of their update. */
function scenarioOf(count: number): object {
  const type = {
    ...{ type: 'mqtt_device', keep_alive_sec: 600, telemetry: { interval_sec: 86_400 } },
    firmware: { download: 'fake', install_sec: STEP_SEC, reboot_sec: STEP_SEC },
  }
  return {
    ...{ name: 'rollout', seed: 1, duration_sec: 3_600, connect_per_sec: 1_000 },
    types: [
      { ...type, count, id_prefix: 'many', group: 'bench/many' },
      { ...type, count: FEW, id_prefix: 'few', group: 'bench/few' },
    ],
  }
}

/** Measures the time from the creation of a small deployment until its message has reached all devices. */
async function notify(at: Scene): Promise<void> {
  const { bench, rest } = at
  const target = { type: 'group', value: 'bench/few' }
  const id = await deploy(at, { firmware_version: '2.0.0', target, max_concurrent: FEW })
  await allSucceeded(at, id, FEW)
  const text = await rest.text(`/api/v1/ota/deployments/${id}/devices?per_page=${FEW}`)
  const { created_at: made } = JSON.parse(await rest.text(`/api/v1/ota/deployments/${id}`))
  const waits = JSON.parse(text)
    .data.map((job: { notified_at: string }) => Date.parse(job.notified_at) - Date.parse(made))
    .sort((a: number, b: number) => a - b)
  bench.add({
    ...{ scenario: `rollout to ${FEW}`, name: 'told after, p99', unit: 's' },
    value: waits[Math.ceil(0.99 * waits.length) - 1] / 1_000,
    target: { kind: 'at_most', value: 1 },
    note: 'from the creation of the deployment until the PUBACK of its message, by the times in the records',
  })
}

async function rollOut(at: Scene, count: number): Promise<void> {
  const { bench, rest, service } = at
  const others = await rest.register(deviceIds(OTHERS, 'other'), 'others')
  await withGenerator(async (generator) => {
    await generator.open({
      ...service.mqtt,
      devices: others,
      ringSize: 1_024,
      greet: false,
      connectsAtOnce: 64,
    })
    const publish = (durationMs: number) =>
      generator.paced({ messagesPerSec: MESSAGES_PER_SEC, durationMs, burst: 1, probe: undefined })
    const [calmCpu, calmFrom] = [sampleCpu(service.pid), ticks()]
    const calm = await publish(CALM_MS)
    const calmShare = cpuBetween(calmCpu, sampleCpu(service.pid)).totalMicros / (ticks() - calmFrom)

    const noise = new NoiseMeter()
    const growth = watchGrowth(service.pid)
    const [rounds, before, from] = [await roundSeconds(rest), sampleCpu(service.pid), ticks()]
    const target = { type: 'group', value: 'bench/many' }
    const atOnce = count / 10
    const id = await deploy(at, { firmware_version: '2.0.0', target, max_concurrent: atOnce })
    const answeredAt = ticks()
    const felt = await publish(WATCHED_MS)
    const feltUntil = ticks()
    await allSucceeded(at, id, count)
    const seconds = (ticks() - from) / 1_000
    const totalMicros = cpuBetween(before, sampleCpu(service.pid)).totalMicros
    const micros = totalMicros - calmShare * (feltUntil - answeredAt)
    const grewBytes = growth()
    const inRounds = (await roundSeconds(rest)) - rounds
    const idealSec = (count / atOnce) * 2 * STEP_SEC
    const scenario = `rollout to ${toDigits(count)}`
    bench.add(
      {
        ...{ scenario, name: '201 after', value: (answeredAt - from) / 1_000, unit: 's' },
        target: { kind: 'at_most', value: 2 },
      },
      {
        ...{ scenario, name: 'all proved, by the ideal time', value: seconds / idealSec, unit: 'times' },
        target: { kind: 'at_most', value: 1.5 },
        note: `${toDigits(seconds)} s; ${toDigits(atOnce)} at a time, 2 s each, would take ${idealSec} s${noise.note()}`,
      },
      {
        ...{ scenario, name: 'CPU of the service per device', value: micros / count / 1_000, unit: 'ms' },
        target: { kind: 'at_most', value: 4 },
        note: `without what ${toDigits(MESSAGES_PER_SEC)} messages/s took before it; rounds of the leader took ${toDigits((1_000 * inRounds) / count)} ms per device, their waits included`,
      },
      {
        ...{ scenario, name: 'PUBACK p99 of others', unit: 'times as before' },
        value: felt.latencyMicros.p99 / calm.latencyMicros.p99,
        target: { kind: 'at_most', value: 2 },
        note: `${toDigits(felt.latencyMicros.p99 / 1_000)} ms in the first ${WATCHED_MS / 1_000} s, ${toDigits(calm.latencyMicros.p99 / 1_000)} ms before, ${toDigits(MESSAGES_PER_SEC)} messages/s of ${OTHERS} devices`,
      },
      {
        ...{ scenario, name: 'memory at most', value: grewBytes / MIB, unit: 'MiB' },
        target: { kind: 'at_most', value: 100 },
        note: 'RSS (anonymous) of service and database above that before it',
      },
    )
  })
}

async function allSucceeded({ rest }: Scene, id: string, count: number): Promise<void> {
  await until(`${count} updated`, POLLING, async () => {
    const { progress, status } = JSON.parse(await rest.text(`/api/v1/ota/deployments/${id}`))
    if (progress.failed > 0 || ['aborted', 'rolled_back', 'failed'].includes(status))
      throw new Error(`the rollout failed: ${JSON.stringify(progress)}`)
    return progress.succeeded === count ? true : undefined
  })
}

/** Resolves with the total time of the leader's rounds since the start. */
async function roundSeconds(rest: Rest): Promise<number> {
  const [, seconds = '0'] = /^fleet_ota_orchestrator_seconds_total (\S+)/m.exec(await rest.metrics()) ?? []
  return Number(seconds)
}
