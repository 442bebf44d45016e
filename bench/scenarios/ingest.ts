// Measures ingest from the first publish until every row is queryable and counted.
import { countExactly, expectedOf, rowsInserted, waitForRows } from '../load/count.ts'
import { LEAVES } from '../load/payloads.ts'
import type { RunResult } from '../load/protocol.ts'
import { type Session, withSession } from '../load/session.ts'
import { type CpuUse, cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { residentOfTree } from '../measure/memory.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { byLabel } from '../measure/prometheus.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import type { Durability } from '../targets/service.ts'

const WARM_UP_MS = 2_000
const STAGE_METRIC = 'fleet_stage_seconds_total'
const MIB = 1024 ** 2

/** Messages in flight per device, by the number of sockets. */
export function windowFor(sockets: number): number {
  return sockets <= 100 ? 64 : sockets <= 1_000 ? 16 : 4
}

export function ringFor(sockets: number): number {
  return sockets <= 1_000 ? 64 : 16
}

export function ingestName(sockets: number, durability: Durability): string {
  return `ingest, ${toDigits(sockets)} sockets, ${durability}`
}

export const ingest: Scenario = {
  name: 'ingest',
  about: 'messages/s and CPU per message, from the first publish to the last row counted',
  async run(bench) {
    const sizes = bench.quick ? [100, 1_000] : [100, 1_000, 10_000]
    for (const sockets of sizes) {
      for (const durability of ['power', 'process'] as const) {
        bench.say(ingestName(sockets, durability))
        await bench.withDir((dataDir) =>
          withSession({ dataDir, durability, devices: sockets }, (session) =>
            measure(bench, session, durability),
          ),
        )
      }
    }
  },
}

interface Measurement {
  readonly sockets: number
  readonly durability: Durability
  readonly run: RunResult
  readonly seconds: number
  readonly cpu: CpuUse
  readonly stages: string
  readonly noise: string
}

async function measure(bench: Bench, session: Session, durability: Durability): Promise<void> {
  const { service, rest, devices, generator } = session
  const ids = devices.map(({ id }) => id)
  const sockets = devices.length
  const window = windowFor(sockets)
  await generator.open({
    ...service.mqtt,
    devices,
    connectsAtOnce: 256,
    ringSize: ringFor(sockets),
    greet: false,
  })
  const warm = await generator.closed({ window, durationMs: WARM_UP_MS, messagesPerDevice: undefined })
  await waitForRows(rest, expectedOf(ids, [warm]))

  const noise = new NoiseMeter()
  const stagesBefore = byLabel(await rest.metrics(), STAGE_METRIC, 'stage')
  const before = sampleCpu(service.pid)
  const durationMs = bench.quick ? 4_000 : 15_000
  const run = await generator.closed({ window, durationMs, messagesPerDevice: undefined })
  const countedAt = await waitForRows(rest, expectedOf(ids, [warm, run]))
  // CPU is sampled before the devices are counted, because those thousands of queries are not part of ingest.
  const cpu = cpuBetween(before, sampleCpu(service.pid))
  const stagesAfter = byLabel(await rest.metrics(), STAGE_METRIC, 'stage')
  const seconds = (countedAt - run.firstSentAt) / 1000
  const stages = describeStages(stagesBefore, stagesAfter, run.messages)
  addFigures(bench, { sockets, durability, run, seconds, cpu, stages, noise: noise.note() })

  const counted = await countExactly(rest, expectedOf(ids, [warm, run]), sockets > 1_000 ? 500 : sockets)
  const rows = (await rowsInserted(rest)) ?? Number.NaN
  bench.add({
    scenario: ingestName(sockets, durability),
    name: 'points missing or duplicated',
    value: counted.expected - counted.found,
    unit: '',
    target: { kind: 'at_most', value: 0 },
    note: `${toDigits(counted.devices)} devices counted one by one; ${toDigits(rows)} rows inserted in all`,
  })
  addResident(bench, ingestName(sockets, durability), service.pid)
}

function addFigures(bench: Bench, measured: Measurement): void {
  const { sockets, durability, run, seconds, cpu, stages, noise } = measured
  const scenario = ingestName(sockets, durability)
  const rate = run.messages / seconds
  const aedes = bench.find('floors', `bare aedes, ${toDigits(sockets)} sockets`)
  const perMessage = (micros: number): number => micros / run.messages
  const [busiest = 0, ...others] = cpu.threadMicros
  const rest = others.reduce((sum, micros) => sum + micros, 0)
  const split =
    `main ${toDigits(perMessage(cpu.mainMicros))}, busiest thread ${toDigits(perMessage(busiest))}, other threads ` +
    `${toDigits(perMessage(rest))}, ClickHouse ${toDigits(perMessage(cpu.childrenMicros))}; ` +
    `generator ${toDigits(perMessage(run.cpuMicros))} not included`
  const target = sockets === 1_000
  bench.add(
    {
      scenario,
      name: 'messages/s',
      value: rate,
      unit: '',
      ...(target ? { target: { kind: 'at_least', value: 80_000 } } : {}),
      ...bench.shareOf('bare aedes', aedes === undefined ? undefined : rate / aedes),
      note: `${toDigits(rate * LEAVES)} points/s; ${toDigits(run.messages)} messages in ${toDigits(seconds)} s${noise}`,
    },
    {
      scenario,
      name: 'CPU per message',
      value: perMessage(cpu.totalMicros),
      unit: 'µs',
      ...(target ? { target: { kind: 'at_most', value: 16 } } : {}),
      ...floorOfCpu(bench, perMessage(cpu.totalMicros)),
      note: stages === '' ? split : `${split}; ${stages}`,
    },
    {
      scenario,
      name: 'PUBACK p50',
      value: run.latencyMicros.p50 / 1000,
      unit: 'ms',
      note: `p99 ${toDigits(run.latencyMicros.p99 / 1000)} ms; at full load, ${windowFor(sockets)} unacknowledged per device`,
    },
  )
}

// The least that this work can cost is to parse and flatten each message, and to insert its eight points from a prebuilt
// block.
function floorOfCpu(bench: Bench, micros: number): ReturnType<Bench['shareOf']> {
  const parse = bench.find('floors', 'JSON.parse + flatten')
  const insert = bench.find('floors', 'insert, prebuilt blocks')
  return bench.shareOf(
    'parse + insert',
    parse === undefined || insert === undefined ? undefined : (parse + insert) / micros,
  )
}

function describeStages(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  messages: number,
): string {
  return [...after]
    .map(
      ([stage, seconds]) => `${stage} ${toDigits(((seconds - (before.get(stage) ?? 0)) * 1e6) / messages)}`,
    )
    .join(', ')
}

export function addResident(bench: Bench, scenario: string, pid: number): void {
  const { root, children } = residentOfTree(pid)
  bench.add({
    scenario,
    name: 'RSS',
    value: (root.anonBytes + children.anonBytes) / MIB,
    unit: 'MiB',
    note:
      `service ${toDigits(root.anonBytes / MIB)}, ClickHouse ${toDigits(children.anonBytes / MIB)}; ` +
      `mapped files not included: ${toDigits((root.fileBytes + children.fileBytes) / MIB)}`,
  })
}
