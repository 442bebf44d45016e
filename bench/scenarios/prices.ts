// The CPU that the dearest requests of each role cost, as multiples of a plain GET: what one user may cause with one
// request. The budget of work prices them by these figures.
import { Rest } from '../load/rest.ts'
import { deviceIds } from '../load/session.ts'
import { cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { type Service, startService } from '../targets/service.ts'

const SCENARIO = 'price of a request'
const AGGREGATES = 'avg,min,max,count,last,sum,first,stddev,p50,p95,p99'
const METRICS = Array.from({ length: 10 }, (_, i) => `m${i}`).join(',')
const HISTORY = '/api/v1/telemetry/bench-000000/history'
/** A goal, and what no request may cost. */
const MULTIPLE_MAX = 100

/** The least role that may send it, what it is, and its path. */
const REQUESTS = [
  [
    'viewer',
    'history, 10 series of 4 400 filled buckets with 11 aggregates',
    `${HISTORY}?metric=${METRICS}&interval=1m&from=-4399m&fill=null&agg=${AGGREGATES}`,
  ],
  [
    'viewer',
    'history, 30 years of days in a time zone',
    `${HISTORY}?metric=m0&interval=1d&from=-10950d&tz=Africa/Casablanca&fill=null`,
  ],
  [
    'viewer',
    'telemetry of 200 devices, filled',
    '/api/v1/telemetry?metric=m0&interval=1m&from=-219m&fill=null&per_page=200',
  ],
  ['viewer', 'page of 200 devices', '/api/v1/devices?per_page=200'],
  ['viewer', 'file of all devices', '/api/v1/devices/export'],
  ['operator', 'commands of a device', '/api/v1/commands/bench-000000?per_page=200'],
  ['admin', 'audit, 200 entries', '/api/v1/audit?per_page=200'],
] as const

export const prices: Scenario = {
  name: 'prices',
  about: 'CPU of the dearest requests of each role, as multiples of a plain GET',
  async run(bench) {
    await bench.withDir(async (dataDir) => {
      const service = await startService({ dataDir, durability: 'power' })
      const rest = new Rest(service.httpUrl)
      try {
        await rest.login()
        await rest.register(deviceIds(bench.quick ? 1_000 : 10_000))
        await measure(bench, { service, rest })
      } finally {
        rest.close()
        await service.kill()
      }
    })
  },
}

async function measure(
  bench: Bench,
  { service, rest }: { readonly service: Service; readonly rest: Rest },
): Promise<void> {
  const noise = new NoiseMeter()
  const cost = async (path: string, count: number): Promise<number> => {
    // The first one warms up.
    await rest.text(path)
    const before = sampleCpu(service.pid)
    for (let i = 0; i < count; i++) await rest.text(path)
    return cpuBetween(before, sampleCpu(service.pid)).totalMicros / count
  }
  const plain = await cost('/api/v1/devices/bench-000000', bench.quick ? 1_000 : 5_000)
  bench.add({
    scenario: SCENARIO,
    name: 'plain GET',
    value: plain,
    unit: 'µs',
    note: `GET /devices/{id}, one after the other; CPU of the service and its database${noise.note()}`,
  })
  for (const [role, name, path] of REQUESTS) {
    const micros = await cost(path, bench.quick ? 10 : 30)
    bench.add({
      scenario: SCENARIO,
      name: `${role}: ${name}`,
      value: micros / plain,
      unit: '×',
      target: { kind: 'at_most', value: MULTIPLE_MAX },
      note: `${toDigits(micros / 1_000)} ms of CPU each${noise.note()}`,
    })
  }
}
