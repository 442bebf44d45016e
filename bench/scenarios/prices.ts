// Measures the most expensive requests of each role. The first figure is the CPU time that one request can cause, as a
// multiple of a plain GET. Most of these requests are charged to the user's budget of work, which limits how many can be
// sent. The second figure is the cost of one unit of that budget.
import { API_LIMITS } from '../../api/limits.ts'
import { openDataDir } from '../../engine/adapters/data-dir/data-dir.ts'
import { DATABASE_WORK } from '../../schemas/operation.ts'
import { registerOnly } from '../load/register-only.ts'
import type { Rest } from '../load/rest.ts'
import { deviceIds, withService } from '../load/session.ts'
import { cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { withTelemetry } from '../targets/clickhouse.ts'
import { fillPoints } from '../targets/fill.ts'
import type { Service } from '../targets/service.ts'

const SCENARIO = 'price of a request'
const AGGREGATES = 'avg,min,max,count,last,sum,first,stddev,p50,p95,p99'
const METRICS = Array.from({ length: 10 }, (_, i) => `m${i}`).join(',')
const PLAIN = '/api/v1/devices/bench-000000'
const FILE = '/api/v1/devices/export'
const HISTORY = '/api/v1/telemetry/bench-000000/history'
/** No request may cost more, however it is charged. Files of devices are exempt, because they grow with the fleet and let
 *  other requests run in between. */
const MULTIPLE_MAX = 100
/** No unit of the budget may cost more. A request that is not charged counts as one unit. */
const MULTIPLE_PER_UNIT_MAX = 25

/** Metrics with one point per second for 11 000 buckets of ten seconds, which is the maximum of an answer. */
const MEASURED = Array.from({ length: 10 }, (_, i) => `measured${i}`)
const MEASURED_SEC = 110_000

const measuredUnits = (buckets: number, aggregates: number) =>
  (buckets * (1 + aggregates)) / API_LIMITS.measuredValuesPerWork

const filledUnits = (buckets: number, aggregates: number) =>
  (buckets * (1 + aggregates)) / API_LIMITS.valuesPerWork

/** Each request has the lowest role that may send it, a description, its path, and the units of work it is charged. */
const REQUESTS: readonly (readonly [
  role: string,
  name: string,
  path: string,
  units: (devices: number) => number,
])[] = [
  [
    'viewer',
    'history, 10 series of 2 200 filled buckets with 11 aggregates',
    `${HISTORY}?metric=${METRICS}&interval=1m&from=-2199m&fill=null&agg=${AGGREGATES}`,
    () => filledUnits(22_000, 11),
  ],
  [
    'viewer',
    'history, 10 series of 11 000 measured buckets',
    `${HISTORY}?metric=${MEASURED.join(',')}&interval=10s&from=-109990s`,
    () => measuredUnits(110_000, 5),
  ],
  [
    'viewer',
    'history, 10 series of 11 000 measured buckets with 11 aggregates',
    `${HISTORY}?metric=${MEASURED.join(',')}&interval=10s&from=-109990s&agg=${AGGREGATES}`,
    () => measuredUnits(110_000, 11),
  ],
  [
    'viewer',
    'history, 30 years of days in a time zone',
    `${HISTORY}?metric=m0&interval=1d&from=-10950d&tz=Africa/Casablanca&fill=null`,
    () => 30 + filledUnits(10_950, 5),
  ],
  [
    'viewer',
    'telemetry of 200 devices, filled',
    '/api/v1/telemetry?metric=m0&interval=1m&from=-109m&fill=null&per_page=200',
    () => 200 / API_LIMITS.devicesPerWork + filledUnits(22_000, 5),
  ],
  ['viewer', 'page of 200 devices', '/api/v1/devices?per_page=200', () => 1],
  ['viewer', 'file of all devices', FILE, (devices) => devices / API_LIMITS.devicesPerWork],
  ['viewer', 'timeline of all devices, 200 entries', '/api/v1/events?limit=200', () => DATABASE_WORK],
  ['viewer', 'how the counts went', '/api/v1/fleet/trend', () => DATABASE_WORK],
  ['operator', 'commands of a device', '/api/v1/commands/bench-000000?per_page=200', () => 1],
  ['admin', 'audit, 200 entries', '/api/v1/audit?per_page=200', () => DATABASE_WORK],
  ['admin', 'system', '/api/v1/system', () => 1],
]

const rows = (devices: number) =>
  Array.from({ length: devices }, (_, i) => ({ device_id: `row-${i}`, name: `row-${i}`, type: 'simulator' }))

/** Changes to every device. Each is described by who sends it and what it does, with its path, body and units of work. */
const BULKS: readonly (readonly [
  name: string,
  path: string,
  body: (devices: number) => object,
  units: (devices: number) => number,
])[] = [
  [
    'admin: file of devices that are only checked',
    '/api/v1/devices/bulk?dry_run=true',
    rows,
    (devices) => devices / API_LIMITS.rowsCheckedPerWork,
  ],
  [
    'admin: file of devices that are registered',
    '/api/v1/devices/bulk',
    rows,
    (devices) => devices / API_LIMITS.rowsPerWork,
  ],
  [
    'admin: a tag for all devices',
    '/api/v1/devices/bulk-edit',
    () => ({ filter: { group: 'bench' }, patch: { tags_add: ['tagged'] } }),
    (devices) => devices / API_LIMITS.devicesPerWork,
  ],
]

export const prices: Scenario = {
  name: 'prices',
  about: 'CPU of the dearest requests of each role, as multiples of a plain GET',
  async run(bench) {
    await bench.withDir(async (dataDir) => {
      const [measured = ''] = deviceIds(1)
      await registerOnly(dataDir, [measured])
      const endMs = Date.now()
      const owned = await openDataDir(dataDir)
      await withTelemetry(owned.telemetry, (open) =>
        fillPoints(open, { devices: [measured], metrics: MEASURED, seconds: MEASURED_SEC, endMs }),
      ).finally(() => owned.release())
      await withService({ dataDir, durability: 'power' }, async ({ service, rest }) => {
        const devices = bench.quick ? 1_000 : 10_000
        await rest.register(deviceIds(devices).filter((id) => id !== measured))
        await measure(bench, { service, rest, devices })
      })
    })
  },
}

async function measure(
  bench: Bench,
  { service, rest, devices }: { readonly service: Service; readonly rest: Rest; readonly devices: number },
): Promise<void> {
  const noise = new NoiseMeter()
  const cost = async (path: string, count: number): Promise<number> => {
    // A tenth of the requests is sent first to warm up.
    for (let i = 0; i < count / 10; i++) await rest.text(path)
    const before = sampleCpu(service.pid)
    for (let i = 0; i < count; i++) await rest.text(path)
    return cpuBetween(before, sampleCpu(service.pid)).totalMicros / count
  }
  // During this run the rows of the registrations are stored, and the plain GET reaches its full speed.
  await cost(PLAIN, bench.quick ? 1_000 : 5_000)
  const plain = await cost(PLAIN, bench.quick ? 1_000 : 5_000)
  bench.add({
    scenario: SCENARIO,
    name: 'plain GET',
    value: plain,
    unit: 'µs',
    note: `GET /devices/{id}, one after the other; CPU of the service and its database${noise.note()}`,
  })
  const add = (what: string, micros: number, units: number, isBounded: boolean) => {
    bench.add(
      {
        scenario: SCENARIO,
        name: what,
        value: micros / plain,
        unit: '×',
        ...(isBounded ? { target: { kind: 'at_most', value: MULTIPLE_MAX } } : {}),
        note: `${toDigits(micros / 1_000)} ms of CPU each${noise.note()}`,
      },
      {
        scenario: SCENARIO,
        name: `${what}, a unit of the budget`,
        value: micros / plain / Math.max(1, units),
        unit: '×',
        target: { kind: 'at_most', value: MULTIPLE_PER_UNIT_MAX },
        note: `charged ${toDigits(units)} units`,
      },
    )
  }
  for (const [role, name, path, unitsOf] of REQUESTS)
    add(`${role}: ${name}`, await cost(path, bench.quick ? 10 : 30), unitsOf(devices), path !== FILE)
  for (const [name, path, bodyOf, units] of BULKS) {
    const before = sampleCpu(service.pid)
    await rest.post(path, bodyOf(devices))
    add(name, cpuBetween(before, sampleCpu(service.pid)).totalMicros, units(devices), false)
  }
}
