// Measures what a message costs in each process of the cluster profile behind mosquitto, and runs the glue script behind
// the same broker for comparison.

import { openDevices, stored } from '../load/cluster-load.ts'
import { countExactly, expectedOf } from '../load/count.ts'
import type { RunResult } from '../load/protocol.ts'
import { Rest } from '../load/rest.ts'
import { deviceIds, withGenerator } from '../load/session.ts'
import { cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { type Cluster, withCluster } from '../targets/cluster.ts'
import { glue, glueName } from './glue.ts'

const SOCKETS = 1_000
const WINDOW = 16
const WARM_UP_MESSAGES = 50
/** One process for each role, or one for all. */
const LAYOUTS = [['ingress', 'engine', 'api'], ['ingress,engine,api']] as const

export const cluster: Scenario = {
  name: 'cluster',
  about: 'the cluster profile on real servers: messages/s and CPU by process, compared with the glue peer',
  async run(bench) {
    // The glue peer runs in the same session, because the speed of the machine changes over time.
    if (bench.find(glueName, 'messages/s') === undefined) await glue.run(bench)
    for (const layout of LAYOUTS) {
      const isDone = await withCluster(bench, async (servers) => {
        bench.say(nameOf(layout))
        await measureIngest(bench, servers, layout)
      })
      if (!isDone) return
      compare(bench, nameOf(layout))
    }
  },
}

function nameOf(layout: readonly string[]): string {
  return layout.length === 1 ? 'cluster, one process' : `cluster, ${layout.join(' + ')}`
}

async function measureIngest(bench: Bench, servers: Cluster, layout: readonly string[]): Promise<void> {
  const nodes = await Promise.all(layout.map((roles) => servers.startNode({ roles })))
  const rest = new Rest(nodes.at(-1)?.httpUrl ?? '')
  try {
    await rest.login()
    const ids = deviceIds(SOCKETS)
    await rest.register(ids)
    await withGenerator(async (generator) => {
      await openDevices(servers, generator, { ids, ringSize: 64, greet: false })
      const job = { window: WINDOW, durationMs: 60_000 }
      const warm = await generator.closed({ ...job, messagesPerDevice: WARM_UP_MESSAGES })
      await stored(servers, warm.messages)
      const pids = [...nodes.map(({ pid, roles }) => [roles, pid] as const), ...serversOf(servers)]
      const noise = new NoiseMeter()
      const before = pids.map(([, pid]) => sampleCpu(pid))
      const run = await generator.closed({ ...job, messagesPerDevice: bench.quick ? 100 : 300 })
      const storedAt = await stored(servers, warm.messages + run.messages)
      const costs = before.map((sample, at): Cost => {
        const [name, pid] = pids[at] ?? ['', 0]
        const { totalMicros } = cpuBetween(sample, sampleCpu(pid))
        return { name, isOurs: at < nodes.length, micros: totalMicros / run.messages }
      })
      const seconds = (storedAt - run.firstSentAt) / 1000
      addIngest(bench, nameOf(layout), { run, seconds, costs, noise: noise.note() })
      const counted = await countExactly(rest, expectedOf(ids, [warm, run]), SOCKETS)
      bench.add({
        scenario: nameOf(layout),
        name: 'points missing or duplicated',
        value: counted.expected - counted.found,
        unit: '',
        target: { kind: 'at_most', value: 0 },
        note: `${toDigits(counted.devices)} devices counted one by one`,
      })
    })
  } finally {
    rest.close()
  }
}

function serversOf({ serverPids }: Cluster): readonly (readonly [string, number])[] {
  return Object.entries(serverPids)
}

interface Cost {
  readonly name: string
  readonly isOurs: boolean
  readonly micros: number
}

interface IngestRun {
  readonly run: RunResult
  readonly seconds: number
  readonly costs: readonly Cost[]
  readonly noise: string
}

const OURS = 'CPU per message, our processes'
const ALL = 'CPU per message, servers included'

function addIngest(bench: Bench, scenario: string, { run, seconds, costs, noise }: IngestRun): void {
  const sum = (some: readonly Cost[]) => some.reduce((micros, cost) => micros + cost.micros, 0)
  const ours = costs.filter(({ isOurs }) => isOurs)
  const told = (some: readonly Cost[]) =>
    some.map(({ name, micros }) => `${name} ${toDigits(micros)}`).join(', ')
  bench.add(
    {
      scenario,
      name: 'messages/s',
      value: run.messages / seconds,
      unit: '',
      target: { kind: 'at_least', value: 40_000 },
      note: `${toDigits(run.messages)} messages in ${toDigits(seconds)} s, until stored${noise}`,
    },
    {
      scenario,
      name: OURS,
      value: sum(ours),
      unit: 'µs',
      target: { kind: 'at_most', value: 20 },
      note: told(ours),
    },
    {
      scenario,
      name: ALL,
      value: sum(costs),
      unit: 'µs',
      note: `${told(costs.filter(({ isOurs }) => !isOurs))}; generator ${toDigits(run.cpuMicros / run.messages)} not included`,
    },
  )
}

function compare(bench: Bench, scenario: string): void {
  const ratio = (mine: number | undefined, theirs: number | undefined) => (mine ?? NaN) / (theirs ?? NaN)
  bench.add(
    {
      scenario,
      name: 'messages/s compared with the glue peer',
      value: ratio(bench.find(scenario, 'messages/s'), bench.find(glueName, 'messages/s')),
      unit: '×',
      note: 'in the same run',
    },
    {
      scenario,
      name: 'CPU of the glue peer compared with ours',
      value: ratio(bench.find(glueName, 'CPU per message'), bench.find(scenario, ALL)),
      unit: '×',
      note: 'everything is counted: broker, script or nodes, log, store, ClickHouse',
    },
  )
}
