import { openDevices, stored } from '../load/cluster-load.ts'
import { Rest } from '../load/rest.ts'
import { deviceIds, withGenerator } from '../load/session.ts'
import { type CpuSample, cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { ticks, until } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { type Cluster, type ClusterNode, withCluster } from '../targets/cluster.ts'

const SOCKETS = 1_000
const LOADS = [300, 3_000, 30_000] as const
const ROLES = ['ingress', 'engine', 'api'] as const
const WARM_UP = { messagesPerSec: 3_000, durationMs: 3_000, burst: 1, probe: undefined } as const

export const loads: Scenario = {
  name: 'loads',
  about: 'the cluster profile at 300, 3 000 and 30 000 messages/s: CPU per message of each role',
  async run(bench) {
    await withCluster(bench, (servers) => measure(bench, servers))
  },
}

async function measure(bench: Bench, servers: Cluster): Promise<void> {
  const nodes = await Promise.all(ROLES.map((roles) => servers.startNode({ roles })))
  const rest = new Rest(nodes.at(-1)?.httpUrl ?? '')
  try {
    await rest.login()
    const ids = deviceIds(SOCKETS)
    await rest.register(ids)
    await withGenerator(async (generator) => {
      await openDevices(servers, generator, { ids, ringSize: 64, greet: false })
      let sent = (await generator.paced(WARM_UP)).messages
      await stored(servers, sent)
      const idle = await idlePerSec(nodes, bench.quick ? 3_000 : 10_000)
      for (const messagesPerSec of LOADS) {
        bench.say(`${toDigits(messagesPerSec)} messages/s`)
        const noise = new NoiseMeter()
        const [before, since] = [nodes.map(({ pid }) => sampleCpu(pid)), ticks()]
        const durationMs = bench.quick ? 5_000 : 20_000
        const run = await generator.paced({ messagesPerSec, durationMs, burst: 1, probe: undefined })
        sent += run.messages
        await stored(servers, sent)
        const seconds = (ticks() - since) / 1_000
        const costs = costsOf(nodes, before).map((micros) => micros / run.messages)
        const idleCosts = idle.map((micros) => (micros * seconds) / run.messages)
        const told = (values: readonly number[]) =>
          nodes.map(({ roles }, at) => `${roles} ${toDigits(values[at] ?? 0)}`).join(', ')
        bench.add({
          scenario: `cluster at ${toDigits(messagesPerSec)} messages/s`,
          name: 'CPU per message, our processes',
          value: sum(costs),
          unit: 'µs',
          note: `${told(costs)}; without messages they would have used ${told(idleCosts)}; sent ${toDigits(run.messages)}, late ${toDigits(run.deferred)}${noise.note()}`,
        })
      }
    })
  } finally {
    rest.close()
  }
}

/** Measures the CPU time of each node without any messages, in microseconds per second. */
async function idlePerSec(nodes: readonly ClusterNode[], ms: number): Promise<readonly number[]> {
  const [before, since] = [nodes.map(({ pid }) => sampleCpu(pid)), ticks()]
  await until('a quiet while', { deadlineMs: 2 * ms, everyMs: 100 }, async () =>
    ticks() - since >= ms ? true : undefined,
  )
  const seconds = (ticks() - since) / 1_000
  return costsOf(nodes, before).map((micros) => micros / seconds)
}

function costsOf(nodes: readonly ClusterNode[], before: readonly CpuSample[]): readonly number[] {
  return before.map((sample, at) => cpuBetween(sample, sampleCpu(nodes[at]?.pid ?? 0)).totalMicros)
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0)
}
