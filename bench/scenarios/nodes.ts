// Three engines run under a steady load while one is killed, another one joins, and ClickHouse goes down and comes back.
import { CutProxy } from '../../engine/adapters/testing/proxy.ts'
import { partitionOf } from '../../engine/index.ts'
import { parseDeviceId } from '../../schemas/ids.ts'
import { openDevices } from '../load/cluster-load.ts'
import type { Generator } from '../load/generator.ts'
import { Rest } from '../load/rest.ts'
import { deviceIds, withGenerator } from '../load/session.ts'
import { sleep, ticks, until } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { type Cluster, type ClusterNode, withCluster } from '../targets/cluster.ts'
import { measureOutage } from './outage.ts'

const SOCKETS = 1_000
const ENGINES = 3
const scenario = `cluster, ${ENGINES} engines`
const PARTITIONS = 64
/** Messages per second while nodes leave and join. */
const STEADY_PER_SEC = 1_000
const PATIENCE_MS = 120_000
const ASK_EVERY_MS = 200
/** How long an unanswered request may take before the next one is sent. */
const ASK_AGAIN_MS = 2_000

export const nodes: Scenario = {
  name: 'nodes',
  about:
    'the cluster profile: takeover after kill -9, rebalancing, catching up after an outage of ClickHouse',
  async run(bench) {
    await withCluster(bench, (servers) => measure(bench, servers))
  },
}

async function measure(bench: Bench, servers: Cluster): Promise<void> {
  const clickhouse = new URL(servers.clickhouse.url)
  const proxy = await CutProxy.open(clickhouse.host)
  clickhouse.host = proxy.url
  clickhouse.username = servers.clickhouse.user
  clickhouse.password = servers.clickhouse.password
  const start = (roles: string) => servers.startNode({ roles, clickhouseUrl: clickhouse.href })
  const engines = await Promise.all(Array.from({ length: ENGINES }, () => start('engine')))
  const [api] = await Promise.all([start('api'), start('ingress')])
  const rest = new Rest(api.httpUrl)
  try {
    await rest.login()
    const ids = deviceIds(SOCKETS)
    await rest.register(ids)
    await withGenerator(async (generator) => {
      await openDevices(servers, generator, { ids, ringSize: 1_024, greet: true })
      const fleet: Fleet = { servers, rest, generator, ids }
      const changes = await changeNodes(bench, fleet, { engines, start })
      await measureOutage(bench, { servers, generator, proxy, sentBefore: SOCKETS + changes })
    })
  } finally {
    rest.close()
    proxy.close()
  }
}

interface Fleet {
  readonly servers: Cluster
  readonly rest: Rest
  readonly generator: Generator
  readonly ids: readonly string[]
}

interface Nodes {
  readonly engines: readonly ClusterNode[]
  readonly start: (roles: string) => Promise<ClusterNode>
}

/** Kills and starts engines under load, and resolves with the number of messages sent meanwhile. */
async function changeNodes(bench: Bench, fleet: Fleet, { engines, start }: Nodes): Promise<number> {
  const living = [...engines]
  const noise = new NoiseMeter()
  const rounds = bench.quick ? 1 : 3
  const takeovers: Takeover[] = []
  const joins: Join[] = []
  let sent = 0
  for (let round = 0; round < rounds; round++) {
    await balanced(fleet.servers, ENGINES)
    const load = fleet.generator.paced({
      messagesPerSec: STEADY_PER_SEC,
      durationMs: 30_000,
      burst: 1,
      probe: undefined,
    })
    const victim = living.shift()
    if (victim === undefined) throw new Error('no engine')
    takeovers.push(await takeOver(fleet, victim))
    joins.push(await join(fleet, async () => void living.push(await start('engine'))))
    sent += (await load).messages
  }
  addChanges(bench, { takeovers, joins, noise: noise.note() })
  return sent
}

interface Takeover {
  /** Time until every partition has a living owner. */
  readonly ownedMs: number
  readonly firstMs: number
  readonly lastMs: number
  readonly partitions: number
}

/** Measures from kill -9 to answers about devices in the partitions that the node owned. */
async function takeOver({ servers, rest, ids }: Fleet, victim: ClusterNode): Promise<Takeover> {
  const before = ownersOf(await servers.owners())
  const killedAt = ticks()
  await victim.kill('SIGKILL')
  const owned = balanced(servers, ENGINES - 1)
  // The node's partitions are those whose owner changes.
  const answers = await Promise.all(
    onePerPartition(ids).map(async ({ id, partition }) => ({
      partition,
      ms: (await firstAnswer(rest, id)) - killedAt,
    })),
  )
  const after = ownersOf(await servers.owners())
  const moved = answers.filter(({ partition }) => before.get(partition) !== after.get(partition))
  const times = moved.map(({ ms }) => ms)
  return {
    ownedMs: (await owned) - killedAt,
    firstMs: Math.min(...times),
    lastMs: Math.max(...times),
    partitions: moved.length,
  }
}

interface Join {
  /** Time from the node's entry in the table to even shares. */
  readonly balancedMs: number
  /** Longest time without an answer about a device of any partition. */
  readonly silentMs: number
  readonly moved: number
}

async function join({ servers, rest, ids }: Fleet, start: () => Promise<void>): Promise<Join> {
  const before = ownersOf(await servers.owners())
  let isOver = false
  let silentMs = 0
  const asking = onePerPartition(ids).map(async ({ id }) => {
    while (!isOver) {
      const askedAt = ticks()
      silentMs = Math.max(silentMs, (await firstAnswer(rest, id)) - askedAt)
      await sleep(ASK_EVERY_MS)
    }
  })
  const starting = start()
  const enteredAt = await until('the node to enter', { deadlineMs: PATIENCE_MS, everyMs: 20 }, async () =>
    (await servers.owners()).nodes.length === ENGINES ? ticks() : undefined,
  )
  const balancedAt = await balanced(servers, ENGINES)
  await starting
  isOver = true
  await Promise.all(asking)
  const after = ownersOf(await servers.owners())
  const moved = [...after].filter(([partition, owner]) => before.get(partition) !== owner).length
  return { balancedMs: balancedAt - enteredAt, silentMs, moved }
}

/** Resolves when this many engines own all partitions in even shares. */
function balanced(servers: Cluster, count: number): Promise<number> {
  return until(`${count} engines with even shares`, { deadlineMs: PATIENCE_MS, everyMs: 20 }, async () => {
    const state = await servers.owners()
    const owners = [...ownersOf(state).values()]
    const shares = state.nodes.map(({ id }) => owners.filter((owner) => owner === id).length)
    const isEven = shares.every(
      (share) => share === Math.floor(PARTITIONS / count) || share === Math.ceil(PARTITIONS / count),
    )
    return shares.length === count && isEven && shares.reduce((sum, share) => sum + share, 0) === PARTITIONS
      ? ticks()
      : undefined
  })
}

function ownersOf({
  owners,
}: Awaited<ReturnType<Cluster['owners']>>): ReadonlyMap<number, string | undefined> {
  return new Map(owners.map(({ partition, nodeId }) => [partition, nodeId]))
}

function onePerPartition(
  ids: readonly string[],
): readonly { readonly id: string; readonly partition: number }[] {
  const byPartition = new Map<number, string>()
  for (const id of ids) {
    const deviceId = parseDeviceId(id)
    if (deviceId !== undefined) byPartition.set(partitionOf(deviceId), id)
  }
  return [...byPartition].map(([partition, id]) => ({ id, partition }))
}

/** Resolves with the time of the owner's first answer about latest telemetry, which only the owner has. The API waits for
 *  an owner, but a request that reached a dying node may get no answer, so further ones are sent in parallel. */
async function firstAnswer(rest: Rest, id: string): Promise<number> {
  let answeredAt: number | undefined
  let askAgainAt = 0
  const ask = async () => {
    askAgainAt = ticks() + ASK_AGAIN_MS
    const text = await rest.text(`/api/v1/telemetry/${id}`).catch(() => undefined)
    if (text !== undefined) answeredAt ??= ticks()
    else askAgainAt = 0
  }
  return until(`an answer about ${id}`, { deadlineMs: PATIENCE_MS, everyMs: 20 }, async () => {
    if (answeredAt === undefined && ticks() >= askAgainAt) void ask()
    return answeredAt
  })
}

function addChanges(
  bench: Bench,
  {
    takeovers,
    joins,
    noise,
  }: { readonly takeovers: readonly Takeover[]; readonly joins: readonly Join[]; readonly noise: string },
): void {
  const seconds = (times: readonly number[]) => times.map((ms) => toDigits(ms / 1000)).join(', ')
  const lasts = takeovers.map(({ lastMs }) => lastMs)
  const balances = joins.map(({ balancedMs }) => balancedMs)
  bench.add(
    {
      scenario,
      name: 'takeover after kill -9, all its devices',
      value: Math.max(...lasts) / 1000,
      unit: 's',
      target: { kind: 'at_most', value: 15 },
      note:
        `the worst of ${lasts.length}: ${seconds(lasts)} s; owned again after ` +
        `${seconds(takeovers.map(({ ownedMs }) => ownedMs))} s, first answer after ` +
        `${seconds(takeovers.map(({ firstMs }) => firstMs))} s; ${takeovers.map(({ partitions }) => partitions).join(', ')} ` +
        `partitions each, ${toDigits(STEADY_PER_SEC)} messages/s meanwhile; the aim is 5 s${noise}`,
    },
    {
      scenario,
      name: 'rebalancing when a node joins',
      value: Math.max(...balances) / 1000,
      unit: 's',
      note:
        `the worst of ${balances.length}: ${seconds(balances)} s, from its entry to even shares; ` +
        `${joins.map(({ moved }) => moved).join(', ')} of ${PARTITIONS} partitions moved`,
    },
    {
      scenario,
      name: 'longest wait for an answer while moving',
      value: Math.max(...joins.map(({ silentMs }) => silentMs)) / 1000,
      unit: 's',
      note: 'one device of each partition asked five times a second for its latest values',
    },
  )
}
