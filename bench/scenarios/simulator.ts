// What the simulator itself costs, and whether it and the service bear 50 000 devices behind 50 gateways.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Rest } from '../load/rest.ts'
import { type CpuSample, cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { sleep, ticks, until, within } from '../measure/deadline.ts'
import { residentOfTree } from '../measure/memory.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { type TrackedProcess, track } from '../targets/children.ts'
import { type Service, startService } from '../targets/service.ts'

const CLI = fileURLToPath(new URL('../../api/cli/main.js', import.meta.url))
/** Registration included. */
const CONNECTED_MS = 900_000
const POLLING = { deadlineMs: CONNECTED_MS, everyMs: 500 }
const UPDATED = 1_000
const IMAGE_BYTES = 100_000

export const simulator: Scenario = {
  name: 'simulator',
  about: 'CPU per message and memory per device of the simulator; 50 000 devices behind 50 gateways',
  async run(bench) {
    await bench.withDir(async (dir) => {
      const service = await startService({ dataDir: join(dir, 'data'), durability: 'power' })
      const rest = new Rest(service.httpUrl)
      try {
        await rest.login()
        const at = { bench, dir, service, rest }
        await costOf(at, { name: 'direct', count: bench.quick ? 1_000 : 8_000, intervalSec: 4 })
        await costOf(at, { name: 'sub', count: bench.quick ? 5_000 : 20_000, intervalSec: 10, isVia: true })
        await whole(at)
      } finally {
        rest.close()
        await service.kill()
      }
    })
  },
}

interface Place {
  readonly bench: Bench
  readonly dir: string
  readonly service: Service
  readonly rest: Rest
}

interface Crowd {
  readonly name: string
  readonly count: number
  readonly intervalSec: number
  readonly isVia?: boolean
  /** How long it is measured once all are connected. */
  readonly seconds?: number
}

/** An eighth of the devices sends as many messages: what differs is the memory of the devices. */
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
    await allOnline(at, crowd)
    // Births are over, and what they left is collected.
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

/** 50 000 devices that say something every 10 s, with a broadcast to all and a rollout to some in the middle. */
async function whole(at: Place): Promise<void> {
  const { bench, rest, service } = at
  const count = bench.quick ? 5_000 : 50_000
  // The first two minutes go by until all are online; ten more are what is asked for.
  const seconds = bench.quick ? 60 : 720
  const noise = new NoiseMeter()
  const startedAt = ticks()
  const crowd = { name: 'whole', count, intervalSec: 10, isVia: true, seconds }
  const running = start(at, crowd)
  try {
    await allOnline(at, crowd)
    const onlineAt = ticks()
    const before = sampleCpu(service.pid)
    const broadcastId = await rest.broadcast('bench/whole', 'ping')
    const deploymentId = await deploy(at)
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

interface SummaryText {
  readonly connected: number
  readonly published: number
  readonly acked: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly max_ms: number
  readonly commands: Readonly<Record<string, number>>
  readonly errors: Readonly<Record<string, number>>
}

interface Running {
  readonly child: TrackedProcess
  readonly summary: Promise<SummaryText>
}

function start({ dir, service, rest }: Place, crowd: Crowd): Running {
  const path = join(mkdtempSync(join(dir, 'scenario-')), 'scenario.yaml')
  writeFileSync(path, scenarioText(crowd))
  const child = spawn(process.execPath, [CLI, 'simulate', '--scenario', path, '--json'], {
    env: { ...process.env, FLEET_CLI_URL: service.httpUrl, FLEET_CLI_TOKEN: rest.token },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child: track(child), summary: summaryOf(child) }
}

function scenarioText({ name, count, intervalSec, isVia = false, seconds = 60 }: Crowd): string {
  return JSON.stringify({
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
  })
}

async function summaryOf(child: ChildProcess): Promise<SummaryText> {
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  await new Promise((resolve) => child.once('close', resolve))
  // The simulator's own tests know its summary.
  return JSON.parse(text) as SummaryText
}

async function allOnline({ rest }: Place, { name, count }: Crowd): Promise<void> {
  await until(`${count} online`, POLLING, async () => {
    const path = `/api/v1/devices?group=bench/${name}&status=online&type=mqtt_device&per_page=1`
    // While thousands connect, the service may be too busy for an answer.
    const text = await rest.text(path).catch(() => '{}')
    return Reflect.get(Object(JSON.parse(text)), 'total') === count ? true : undefined
  })
}

/** PUBLISH packets that the service has taken. */
async function acknowledged({ rest }: Place): Promise<number> {
  const text = await rest.metrics()
  const lines = text.split('\n').filter((line) => line.startsWith('fleet_mqtt_publishes_total'))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

function microsOf(before: CpuSample, after: CpuSample): number {
  return cpuBetween(before, after).totalMicros
}

async function deploy({ service, rest }: Place): Promise<string> {
  const headers = { authorization: `Bearer ${rest.token}` }
  const form = new FormData()
  form.set('version', '2.0.0')
  form.set('device_type', 'mqtt_device')
  form.set('file', new Blob([Buffer.alloc(IMAGE_BYTES, 1)]), 'image.bin')
  const upload = { method: 'POST', headers, body: form }
  const uploaded = await within(60_000, 'upload', fetch(`${service.httpUrl}/api/v1/ota/firmware`, upload))
  if (uploaded.status !== 201) throw new Error(`upload: ${uploaded.status} ${await uploaded.text()}`)
  const ids = Array.from({ length: UPDATED }, (_, at) => at)
  const page: unknown = JSON.parse(
    await rest.text('/api/v1/devices?group=bench/whole&type=mqtt_device&per_page=1'),
  )
  const [first] = Object(Reflect.get(Object(page), 'data'))
  const digits =
    String(Reflect.get(Object(first), 'device_id'))
      .split('-')
      .at(-1)?.length ?? 5
  const value = ids.map((at) => `whole-${String(at * 5 + 1).padStart(digits, '0')}`)
  const body = JSON.stringify({
    ...{ firmware_version: '2.0.0', device_type: 'mqtt_device', target: { type: 'devices', value } },
    ...{ strategy: 'all', max_concurrent: 200, stable_sec: 0 },
  })
  const made = await fetch(`${service.httpUrl}/api/v1/ota/deployments`, {
    ...{ method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body },
  })
  const text = await made.text()
  if (made.status !== 201) throw new Error(`deployment: ${made.status} ${text}`)
  return String(Reflect.get(JSON.parse(text), 'deployment_id'))
}
