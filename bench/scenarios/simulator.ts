// Measures the cost of the simulator itself, and whether simulator and service can handle 50 000 devices behind 50
// gateways.

import { join } from 'node:path'
import { withService } from '../load/session.ts'
import {
  allOnline,
  deploy,
  type OpenPlace,
  type RunningFleet,
  startSimulated,
  uploadImage,
} from '../load/simulated.ts'
import { type CpuSample, cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { sleep, ticks } from '../measure/deadline.ts'
import { residentOfTree } from '../measure/memory.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'

const UPDATED = 1_000
const IMAGE_BYTES = 100_000

export const simulator: Scenario = {
  name: 'simulator',
  about: 'CPU per message and memory per device of the simulator',
  run: (bench) =>
    withPlace(bench, async (at) => {
      await costOf(at, { name: 'direct', count: bench.quick ? 1_000 : 8_000, intervalSec: 4 })
      await costOf(at, { name: 'sub', count: bench.quick ? 5_000 : 20_000, intervalSec: 10, isVia: true })
    }),
}

export const gateways: Scenario = {
  name: 'gateways',
  about: '50 000 devices behind 50 gateways for twelve minutes, with a broadcast and a rollout in the middle',
  run: (bench) => withPlace(bench, whole),
}

const withPlace = (bench: Bench, work: (at: Place) => Promise<void>) =>
  bench.withDir((dir) =>
    withService({ dataDir: join(dir, 'data'), durability: 'power' }, (open) => work({ bench, dir, ...open })),
  )

interface Place extends OpenPlace {
  readonly bench: Bench
}

interface Crowd {
  readonly name: string
  readonly count: number
  readonly intervalSec: number
  readonly isVia?: boolean
  /** The duration of the measurement, which begins when all devices are connected. */
  readonly seconds?: number
}

/** A second run has an eighth of the devices and as many messages, so the difference in memory is due to the devices. */
const FEWER = 8

async function costOf(at: Place, crowd: Crowd): Promise<void> {
  const { name, count, intervalSec } = crowd
  const few = { name: `${name}-few`, count: count / FEWER, intervalSec: intervalSec / FEWER }
  const base = await cost(at, { ...crowd, ...few })
  const noise = new NoiseMeter()
  const measured = await cost(at, crowd)
  const kind = crowd.isVia === true ? 'sub-devices' : 'direct devices'
  const scenario = `simulator, ${toDigits(crowd.count)} ${kind}`
  at.bench.add({
    ...{ scenario, name: 'CPU per message of the simulator', value: measured.microsPerMessage, unit: 'µs' },
    target: { kind: 'at_most', value: 15 },
    note: `${toDigits(measured.messages)} messages with their PUBACKs, each device every ${crowd.intervalSec} s${noise.note()}`,
  })
  at.bench.add({
    ...{ scenario, name: 'memory per device', unit: 'KiB' },
    value: (measured.bytes - base.bytes) / (count - few.count) / 1_024,
    target: { kind: 'at_most', value: crowd.isVia === true ? 2 : 10 },
    note: `RSS ${toDigits(measured.bytes / 2 ** 20)} MiB; ${toDigits(base.bytes / 2 ** 20)} MiB with an eighth of the devices that send as many messages`,
  })
}

async function cost(at: Place, { seconds = 20, ...crowd }: Crowd) {
  const running = start(at, { ...crowd, seconds: 3_600 })
  try {
    await allOnline(at, groupOf(crowd))
    // After this time all devices have been created, and the garbage has been collected.
    await sleep(5_000)
    const [before, publishedBefore] = [sampleCpu(running.child.pid), await acknowledged(at)]
    await sleep(seconds * 1_000)
    const [after, published] = [sampleCpu(running.child.pid), await acknowledged(at)]
    const { root } = residentOfTree(running.child.pid)
    const messages = published - publishedBefore
    const microsPerMessage = microsOf(before, after) / messages
    return { microsPerMessage, messages, bytes: root.anonBytes + root.fileBytes }
  } finally {
    await running.child.kill('SIGINT')
  }
}

/** Runs 50 000 devices that each send something every 10 s. Halfway there are a broadcast to all and a rollout to some. */
async function whole(at: Place): Promise<void> {
  const { bench, rest, service } = at
  const count = bench.quick ? 5_000 : 50_000
  // It takes two minutes until all are online. The following ten minutes are measured.
  const seconds = bench.quick ? 60 : 720
  const noise = new NoiseMeter()
  const startedAt = ticks()
  const crowd = { name: 'whole', count, intervalSec: 10, isVia: true, seconds }
  const running = start(at, crowd)
  try {
    await allOnline(at, groupOf(crowd))
    const onlineAt = ticks()
    const before = sampleCpu(service.pid)
    const broadcastId = await rest.broadcast('bench/whole', 'ping')
    const deploymentId = await rollOut(at)
    const summary = await running.summary
    const after = sampleCpu(service.pid)
    const completed = await rest.completedOf(broadcastId)
    const deployed: unknown = JSON.parse(await rest.text(`/api/v1/ota/deployments/${deploymentId}`))
    const succeeded = Reflect.get(Object(Reflect.get(Object(deployed), 'progress')), 'succeeded')
    const scenario = `simulator, ${toDigits(count)} devices behind ${count / 1_000} gateways`
    const { published, acked, errors, p50_ms: p50, p99_ms: p99, max_ms: max, connected } = summary
    const serviceMicros = cpuBetween(before, after).totalMicros
    bench.add(
      {
        ...{ scenario, name: 'messages not acknowledged', value: published - acked, unit: '' },
        target: { kind: 'at_most', value: 0 },
        note:
          `${toDigits(published)} published in ${seconds} s, ${toDigits(connected)} devices connected at the end, ` +
          `registered and online after ${toDigits((onlineAt - startedAt) / 1_000)} s; errors ${errors['total'] ?? 0}${noise.note()}`,
      },
      {
        ...{ scenario, name: 'PUBACK p99', value: p99, unit: 'ms' },
        note: `p50 ${toDigits(p50)} ms, max ${toDigits(max)} ms; a device says something every 10 s`,
      },
      {
        ...{ scenario, name: 'commands of a broadcast completed', value: completed, unit: '' },
        target: { kind: 'at_least', value: count },
        note: `the devices count ${toDigits(summary.commands['completed'] ?? 0)}`,
      },
      {
        ...{ scenario, name: 'updates succeeded', value: Number(succeeded), unit: '' },
        target: { kind: 'at_least', value: Math.min(UPDATED, count) },
        note: `a rollout in the middle, 200 at a time; service ${toDigits(serviceMicros / 1e6)} CPU-s in all`,
      },
    )
  } finally {
    await running.child.kill('SIGINT')
  }
}

const start = (at: Place, crowd: Crowd): RunningFleet => startSimulated(at, scenarioOf(crowd))

const groupOf = ({ name, count }: Crowd) => ({ group: `bench/${name}`, count })

function scenarioOf({ name, count, intervalSec, isVia = false, seconds = 60 }: Crowd): object {
  return {
    ...{ name, seed: 1, duration_sec: seconds, connect_per_sec: 1_000 },
    types: [
      {
        ...{ type: 'mqtt_device', count, id_prefix: name, group: `bench/${name}` },
        ...(isVia ? { via: 'gateway' } : {}),
        telemetry: {
          interval_sec: intervalSec,
          fields: {
            temperature: 'walk',
            humidity: 'walk',
            pressure: 'walk',
            battery: 'ramp',
            count: 'counter',
          },
        },
      },
    ],
  }
}

/** Resolves with the number of PUBLISH packets that the service has accepted. */
async function acknowledged({ rest }: Place): Promise<number> {
  const text = await rest.metrics()
  const lines = text.split('\n').filter((line) => line.startsWith('fleet_mqtt_publishes_total'))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

function microsOf(before: CpuSample, after: CpuSample): number {
  return cpuBetween(before, after).totalMicros
}

/** Creates a rollout to every fifth device, selected by its id. */
async function rollOut(at: Place): Promise<string> {
  await uploadImage(at, { version: '2.0.0', bytes: IMAGE_BYTES })
  const page: unknown = JSON.parse(
    await at.rest.text('/api/v1/devices?group=bench/whole&type=mqtt_device&per_page=1'),
  )
  const [first] = Object(Reflect.get(Object(page), 'data'))
  const digits =
    String(Reflect.get(Object(first), 'device_id'))
      .split('-')
      .at(-1)?.length ?? 5
  const ids = Array.from({ length: UPDATED }, (_, i) => `whole-${String(i * 5 + 1).padStart(digits, '0')}`)
  return deploy(at, {
    ...{ firmware_version: '2.0.0', target: { type: 'devices', value: ids }, max_concurrent: 200 },
  })
}
