// Measures reads through REST: the latest values of a device, compared with a framework that answers a constant, and pages
// of a long device list.
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { deviceIds, type Session, withService, withSession } from '../load/session.ts'
import { type CpuUse, cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { startProgram } from '../targets/ready-line.ts'

const CONNECTIONS = 64
/** There are only a few connections, so that the latency of a page does not include time in a queue. */
const LIST_CONNECTIONS = 2
const READY_MS = 20_000
const REPORTING = 20

export const rest: Scenario = {
  name: 'rest',
  about: 'GET of the latest values compared with bare Fastify; pages of 50 000 devices',
  async run(bench) {
    await bench.withDir((dataDir) =>
      withSession({ dataDir, durability: 'power', devices: REPORTING }, (session) =>
        measureSnapshot(bench, session),
      ),
    )
    await bench.withDir((dataDir) => measureList(bench, dataDir))
  },
}

async function measureSnapshot(bench: Bench, { service, rest, devices, generator }: Session): Promise<void> {
  await generator.open({ ...service.mqtt, devices, connectsAtOnce: 64, ringSize: 1, greet: false })
  await generator.closed({ window: 1, durationMs: 500, messagesPerDevice: undefined })
  const paths = devices.map(({ id }) => `/api/v1/telemetry/${id}`)
  const [first = ''] = paths
  const sample = await rest.text(first)
  if (!sample.includes('"timestamp":"2')) throw new Error(`no telemetry yet: ${sample}`)
  const bare = await startProgram({
    args: [fileURLToPath(new URL('../targets/fastify-main.js', import.meta.url)), sample],
    env: process.env,
    readyMs: READY_MS,
  })
  try {
    const load = { bench, token: rest.token, paths, connections: CONNECTIONS }
    // Both are measured in turn, because the speed of a core changes over time. The second round counts.
    const runs = []
    for (let round = 0; round < 2; round++)
      runs.push({
        floor: await fire({ ...load, url: bare.ready.httpUrl, pid: bare.pid }),
        service: await fire({ ...load, url: service.httpUrl, pid: service.pid }),
      })
    const [, last] = runs
    if (last === undefined) throw new Error('no run')
    addSnapshot(bench, { ...last, bytes: sample.length })
  } finally {
    await bare.kill()
  }
}

interface LoadRun {
  readonly perSec: number
  readonly p50: number
  readonly p99: number
  readonly requests: number
  readonly cpu: CpuUse
  readonly noise: string
}

interface Fire {
  readonly bench: Bench
  readonly url: string
  readonly pid: number
  readonly token: string
  readonly paths: readonly string[]
  readonly connections: number
}

async function fire({ bench, url, pid, token, paths, connections }: Fire): Promise<LoadRun> {
  const noise = new NoiseMeter()
  const before = sampleCpu(pid)
  const result = await autocannon({
    url,
    connections,
    duration: bench.quick ? 2 : 8,
    requests: paths.map((path) => ({ path, headers: { authorization: `Bearer ${token}` } })),
  })
  const bad = result.non2xx + result.errors + result.timeouts
  if (bad > 0) throw new Error(`${bad} of ${result.requests.total} requests were not answered with 2xx`)
  return {
    perSec: result.requests.total / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    requests: result.requests.total,
    cpu: cpuBetween(before, sampleCpu(pid)),
    noise: noise.note(),
  }
}

function addSnapshot(
  bench: Bench,
  { floor, service, bytes }: { readonly floor: LoadRun; readonly service: LoadRun; readonly bytes: number },
): void {
  const each = ({ cpu, requests }: LoadRun): string => toDigits(cpu.totalMicros / requests)
  bench.add(
    {
      scenario: 'REST reads',
      name: 'bare Fastify, requests/s',
      value: floor.perSec,
      unit: '',
      note: `a constant of ${bytes} bytes, ${CONNECTIONS} connections; ${each(floor)} µs of CPU per request${floor.noise}`,
    },
    {
      scenario: 'REST reads',
      name: 'latest values, requests/s',
      value: service.perSec,
      unit: '',
      ...bench.shareOf('bare Fastify', service.perSec / floor.perSec),
      note:
        `GET /telemetry/{id} with a token; p50 ${toDigits(service.p50)}, p99 ${toDigits(service.p99)} ms; ` +
        `${each(service)} µs of CPU per request (main ${toDigits(service.cpu.mainMicros / service.requests)})${service.noise}`,
    },
    {
      scenario: 'REST reads',
      name: 'share of bare Fastify',
      value: (100 * service.perSec) / floor.perSec,
      unit: '%',
      target: { kind: 'at_least', value: 60 },
      note: 'latest values, in the same run',
    },
  )
}

const LISTS = [
  ['first page', ''],
  ['page 500', 'page=500&per_page=100'],
  ['a group and its subtree', 'group=site-3'],
  ['two tags', 'tag=even&tag=third'],
  ['status and type', 'status=provisioning&type=mqtt_device&per_page=200'],
  ['by name, a prefix', 'q=bench-04&sort=name:ASC'],
] as const

async function measureList(bench: Bench, dataDir: string): Promise<void> {
  const size = bench.quick ? 5_000 : 50_000
  await withService({ dataDir, durability: 'power' }, async ({ service, rest }) => {
    await rest.registerAs(deviceIds(size), (id, at) => ({
      device_id: id,
      name: id,
      type: 'mqtt_device',
      group: `site-${at % 10}/hall-${at % 50}`,
      tags: [at % 2 === 0 ? 'even' : 'odd', ...(at % 3 === 0 ? ['third'] : [])],
    }))
    for (const [name, query] of LISTS) {
      const paths = [`/api/v1/devices?${query}`]
      const { url, pid, token } = { url: service.httpUrl, pid: service.pid, token: rest.token }
      const list = await fire({ bench, url, pid, token, paths, connections: LIST_CONNECTIONS })
      bench.add({
        scenario: `device list, ${toDigits(size)} devices`,
        name: `${name}, p99`,
        value: list.p99,
        unit: 'ms',
        target: { kind: 'at_most', value: 10 },
        note: `${toDigits(list.perSec)} pages/s over ${LIST_CONNECTIONS} connections, p50 ${toDigits(list.p50)} ms${list.noise}`,
      })
    }
  })
}
