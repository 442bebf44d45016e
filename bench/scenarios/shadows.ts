// Writes shadows through REST. Each shadow has one writer, which names the version it read. Every write must be in the
// history.
import type { ShadowsResult } from '../load/protocol.ts'
import { type Session, withSession } from '../load/session.ts'
import { type CpuUse, cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { until } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'

const DEVICES = 200
const WARM_UP_MS = 1_000
const HISTORY_MS = 30_000
/** The history is counted for every tenth device. */
const COUNTED_EVERY = 10

export const shadows: Scenario = {
  name: 'shadows',
  about: 'shadow writes with version lock and history through REST, one writer for each of 200 devices',
  async run(bench) {
    await bench.withDir((dataDir) =>
      withSession({ dataDir, durability: 'power', devices: DEVICES }, (session) => measure(bench, session)),
    )
  },
}

interface Measurement {
  readonly run: ShadowsResult
  readonly cpu: CpuUse
  readonly noise: string
}

async function measure(bench: Bench, session: Session): Promise<void> {
  const fresh = session.devices.map(() => 0)
  const warm = await runOnce(session, { verb: 'write', durationMs: WARM_UP_MS, versions: fresh })
  const { versions } = warm.run
  const reads = await runOnce(session, { verb: 'read', durationMs: bench.quick ? 1_000 : 4_000, versions })
  const writes = await runOnce(session, { verb: 'write', durationMs: bench.quick ? 2_000 : 12_000, versions })
  addFigures(bench, writes, reads)
  const missing = await countMissing(session, writes.run.versions)
  bench.add({
    scenario: 'shadow writes',
    name: 'changes missing in history',
    value: missing,
    unit: '',
    target: { kind: 'at_most', value: 0 },
    note: `${DEVICES / COUNTED_EVERY} shadows: entries compared with versions, and so with writes answered with 200`,
  })
}

async function runOnce(
  { service, rest, devices, generator }: Session,
  job: Pick<Parameters<Session['generator']['shadows']>[0], 'verb' | 'durationMs' | 'versions'>,
): Promise<Measurement> {
  const noise = new NoiseMeter()
  const before = sampleCpu(service.pid)
  const ids = devices.map(({ id }) => id)
  const run = await generator.shadows({ httpUrl: service.httpUrl, token: rest.token, ids, ...job })
  return { run, cpu: cpuBetween(before, sampleCpu(service.pid)), noise: noise.note() }
}

/** The history is written later. Entries that do not appear in time count as missing. */
async function countMissing({ rest, devices }: Session, versions: readonly number[]): Promise<number> {
  let missing = 0
  const polling = { deadlineMs: HISTORY_MS, everyMs: 100 }
  for (let at = 0; at < devices.length; at += COUNTED_EVERY) {
    const { id = '' } = devices[at] ?? {}
    const expected = versions[at] ?? 0
    const found = await until(`history of ${id}`, polling, async () => {
      const changes = await rest.shadowChanges(id)
      return changes >= expected ? changes : undefined
    }).catch(() => rest.shadowChanges(id))
    missing += Math.abs(expected - found)
  }
  return missing
}

function addFigures(bench: Bench, { run, cpu, noise }: Measurement, reads: Measurement): void {
  const rate = ({ requests, firstSentAt, lastAt }: ShadowsResult): number =>
    (1000 * requests) / (lastAt - firstSentAt)
  const ms = (micros: number): string => toDigits(micros / 1000)
  const each = (micros: number, { requests }: ShadowsResult): string => toDigits(micros / requests)
  bench.add(
    {
      scenario: 'shadow writes',
      name: 'writes/s',
      value: rate(run),
      unit: '',
      target: { kind: 'at_least', value: 10_000 },
      note:
        `PUT with If-Match, one at a time for each of ${DEVICES} devices, none of them connected; ` +
        `p50 ${ms(run.latencyMicros.p50)}, p99 ${ms(run.latencyMicros.p99)} ms; CPU per write: ` +
        `service ${each(cpu.totalMicros, run)} µs (main ${each(cpu.mainMicros, run)}), ` +
        `generator ${each(run.cpuMicros, run)} µs${noise}`,
    },
    {
      scenario: 'shadow writes',
      name: 'reads/s, for comparison',
      value: rate(reads.run),
      unit: '',
      note:
        `GET of the same shadows: REST and a hop to the shard, without log and store. CPU per read: ` +
        `service ${each(reads.cpu.totalMicros, reads.run)} µs (main ${each(reads.cpu.mainMicros, reads.run)}), ` +
        `generator ${each(reads.run.cpuMicros, reads.run)} µs${reads.noise}`,
    },
  )
}
