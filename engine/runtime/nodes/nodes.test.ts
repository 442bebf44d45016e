import { expect, test } from 'vitest'
import { BroadcastId, CommandId, DeploymentId, Micros } from '../../../schemas/ids.ts'
import { partitionOf } from '../../domain/partition.ts'
import { bundle, idOf, START, telemetry } from '../shard/testing/items.ts'
import { type TestNode, TestNodes } from './testing/nodes.ts'

const IDS = Array.from({ length: 12 }, (_, n) => `device-${n}`)

/** Two nodes that own devices, and one that only asks. */
async function setUp() {
  const nodes = new TestNodes()
  const [a, b, api] = [await nodes.open('a'), await nodes.open('b'), await nodes.open('api', 0)]
  await nodes.time.advance(5_000)
  for (const id of IDS) expect(await nodes.register(api, id)).toMatchObject({ kind: 'done' })
  return { nodes, a, b, api }
}

test('a request finds the owner from any node, and a question sees what was acknowledged before it', async () => {
  const { nodes, a, b, api } = await setUp()
  const all = [a, b, api]
  for (const [n, id] of IDS.entries()) {
    const by: TestNode = all[n % 3] ?? api
    expect(await nodes.within(1_000, nodes.rename(by, id, `new-${n}`))).toMatchObject({ kind: 'done' })
    for (const node of all) expect(await nodes.nameOf(node, id)).toBe(`new-${n}`)
  }
  expect(await nodes.within(1_000, api.engine.views(IDS.map(idOf)))).toHaveLength(IDS.length)
})

test('a dead node is replaced within seconds, and nothing that was acknowledged is lost', async () => {
  const { nodes, a, b, api } = await setUp()
  for (const id of IDS) await nodes.within(1_000, nodes.rename(api, id, 'before'))
  a.die()
  await nodes.time.advance(5_000)
  for (const id of IDS) expect(await nodes.nameOf(api, id)).toBe('before')
  for (const id of IDS) {
    expect(await nodes.within(1_000, nodes.rename(api, id, 'after'))).toMatchObject({ kind: 'done' })
    expect(await nodes.nameOf(b, id)).toBe('after')
  }
})

test('while a partition has no owner, requests and questions about it are refused', async () => {
  const { nodes, a, b, api } = await setUp()
  await a.close()
  await b.close()
  await nodes.time.advance(1_000)
  expect(await nodes.within(7_000, nodes.rename(api, 'device-0', 'lost?'))).toBe('NOT_OWNED')
  expect(await nodes.within(7_000, api.engine.view(idOf('device-0')))).toBe('NOT_OWNED')
  const c = await nodes.open('c')
  await nodes.time.advance(1_000)
  expect(await nodes.nameOf(api, 'device-0')).toBe('device-0')
  expect(await nodes.nameOf(c, 'device-0')).toBe('device-0')
})

test('requests to a node that is gone wait for the next owner, and are carried out', async () => {
  const { nodes, a, api } = await setUp()
  const asked = IDS.map((id) => nodes.rename(api, id, 'after'))
  await nodes.within(1_000, Promise.all(asked))
  a.die()
  await a.mesh.close()
  const done = Promise.all(IDS.map((id) => nodes.rename(api, id, 'later')))
  expect(await nodes.within(6_000, done)).toHaveLength(IDS.length)
  for (const id of IDS) expect(await nodes.nameOf(api, id)).toBe('later')
})

test('questions to a dying node go to the next owner, and its requests end in time', async () => {
  const { nodes, a, api } = await setUp()
  nodes.isBehind = true
  const at = nodes.time.now() - START
  // Answers wait until these entries are read.
  for (const id of IDS) {
    const acknowledged = { partition: partitionOf(idOf(id)), body: bundle([telemetry(id, at, { n: 1 })]) }
    await nodes.log.append([acknowledged], Micros(nodes.time.now() * 1000))
  }
  const asked = Promise.all(IDS.map((id) => api.engine.view(idOf(id))))
  const changed = Promise.allSettled(IDS.map((id) => nodes.rename(api, id, 'after')))
  await nodes.time.advance(500)
  a.die()
  nodes.isBehind = false
  expect(await nodes.within(6_000, asked)).toHaveLength(IDS.length)
  expect(await nodes.within(500, changed)).toHaveLength(IDS.length)
})

test('lists and plans that a dying leader was asked for come from the next one', async () => {
  const { nodes, a, b, api } = await setUp()
  await nodes.within(
    1_000,
    api.engine.broadcast({ broadcastId: BroadcastId('brd_1'), group: 'g', command: 'blink', by: 'usr_1' }),
  )
  const state = await nodes.within(1_000, api.engine.system())
  if (typeof state === 'string') throw new Error(state)
  const leading = state.nodes.find(({ figures }) => figures?.isLeading)
  const id = DeploymentId('dep_none')
  const { deployments } = api.engine
  const asked = Promise.all([
    api.engine.listBroadcasts({ offset: 0, limit: 10, by: 'usr_1', within: undefined }),
    api.engine.channels({ op: 'list' }),
    deployments.list(),
    deployments.get(id),
    deployments.members(id, { offset: 0, limit: 10 }),
  ])
  ;(leading?.address === 'a' ? a : b).die()
  expect(await nodes.within(8_000, asked)).toMatchObject([
    { total: 1 },
    { kind: 'channels', channels: [] },
    [],
    undefined,
    undefined,
  ])
})

test('while nodes join and leave, no request is refused', async () => {
  const { nodes, a, api } = await setUp()
  const outcomes: string[] = []
  const ask = (n: number) =>
    nodes.rename(api, IDS[n % IDS.length] ?? '', `n${n}`).then(
      ({ kind }) => outcomes.push(kind),
      (error: unknown) => outcomes.push(String(error)),
    )
  const c = await nodes.open('c')
  for (let n = 0; n < 40; n++) {
    void ask(n)
    await nodes.time.advance(100)
  }
  const closing = a.close()
  for (let n = 40; n < 60; n++) void ask(n)
  await closing
  await nodes.time.advance(12_000)
  expect(outcomes).toEqual(Array(60).fill('done'))
  expect(c.fatal).toEqual([])
})

test('a broadcast is handed out once to all members, even if its leader dies meanwhile', async () => {
  const { nodes, a, b, api } = await setUp()
  const broadcastId = BroadcastId('brd_1')
  const request = { broadcastId, group: 'g', command: 'blink', by: 'usr_1' }
  const first = a.engine.broadcast(request)
  expect(await nodes.within(5_000, first)).toMatchObject({
    kind: 'done',
    broadcast: { accepted: IDS.length },
  })
  expect(await nodes.counts(api, broadcastId)).toMatchObject({ pending: IDS.length })
  const query = { name: 'blink', statuses: ['pending'], limit: IDS.length - 1 } as const
  const kept = await nodes.within(1_000, api.engine.keptCommands(query))
  if (typeof kept === 'string') throw new Error(kept)
  expect(new Set(kept.map(({ deviceId }) => deviceId)).size).toBe(IDS.length - 1)
  const places = kept.map(({ deviceId, command }) => ({ deviceId, commandId: command.id, createdAt: START }))
  expect(await nodes.within(1_000, api.engine.keptAmong(places))).toHaveLength(kept.length)
  a.die()
  await nodes.time.advance(6_000)
  expect(await nodes.counts(api, broadcastId)).toMatchObject({ pending: IDS.length })
  // A repeated request is the same broadcast.
  await nodes.within(5_000, api.engine.broadcast(request))
  expect(await nodes.counts(b, broadcastId)).toMatchObject({ pending: IDS.length })
})

test('a caller at one node learns of the end of a command that another node decides', async () => {
  const { nodes, api } = await setUp()
  const deviceId = idOf('device-3')
  const commandId = CommandId('cmd_1')
  const wish = { name: 'blink', timeoutSec: 10 }
  const sent = await nodes.within(
    1_000,
    api.engine.submit(
      deviceId,
      { kind: 'command', id: commandId, wish },
      { by: { kind: 'user', id: 'usr_1' } },
    ),
  )
  expect(sent).toMatchObject({ kind: 'done' })
  nodes.hearFrom(api)
  const ended = api.engine.awaitCommand(deviceId, commandId, 30_000)
  expect(await nodes.within(15_000, ended)).toMatchObject({ status: 'expired' })
})

test('a command is shown with everything that its device acknowledged before', async () => {
  const { nodes, api } = await setUp()
  const deviceId = idOf('device-3')
  const commandId = CommandId('cmd_1')
  const wish = { name: 'blink', timeoutSec: 10 }
  await nodes.within(
    1_000,
    api.engine.submit(
      deviceId,
      { kind: 'command', id: commandId, wish },
      { by: { kind: 'user', id: 'usr_1' } },
    ),
  )
  const at = nodes.time.now() - START
  const answer = { request_id: commandId, status: 'completed' }
  const item = { ...telemetry('device-3', at, answer), suffix: 'command/ack' }
  const acknowledged = { partition: partitionOf(deviceId), body: bundle([item]) }
  nodes.isBehind = true
  await nodes.log.append([acknowledged], Micros(nodes.time.now() * 1000))
  const command = api.engine.awaitCommand(deviceId, commandId, 0)
  await nodes.time.advance(500)
  nodes.isBehind = false
  expect(await nodes.within(1_000, command)).toMatchObject({ status: 'completed' })
})

test('any node shows the figures of all owners, and lists one that does not answer', async () => {
  const { nodes, a, api } = await setUp()
  const state = await nodes.within(1_000, api.engine.system())
  if (typeof state === 'string') throw new Error(state)
  expect(state.nodes.map(({ address }) => address)).toEqual(['a', 'api', 'b'])
  const owned = state.nodes.map(({ figures }) => figures?.partitions.length)
  expect(owned).toEqual([32, 0, 32])
  expect(state.nodes.filter(({ figures }) => figures?.isLeading)).toHaveLength(1)
  expect(state.log?.bytes).toBeGreaterThan(0)
  nodes.isBehind = true
  const [id = ''] = IDS
  const acknowledged = {
    partition: partitionOf(idOf(id)),
    body: bundle([telemetry(id, nodes.time.now() - START, { n: 1 })]),
  }
  await nodes.log.append([acknowledged], Micros(nodes.time.now() * 1000))
  await nodes.time.advance(2_000)
  const later = await nodes.within(1_000, api.engine.system())
  if (typeof later === 'string') throw new Error(later)
  const lags = later.nodes.flatMap(({ figures }) => figures?.partitions ?? [])
  const behind = lags.filter(({ lagMs = 0 }) => lagMs > 0)
  expect(behind.map(({ partition }) => partition)).toEqual([acknowledged.partition])
  expect(behind[0]?.lagMs).toBeGreaterThanOrEqual(1_500)
  nodes.isBehind = false
  a.die()
  const asked = await nodes.within(60_000, api.engine.system())
  if (typeof asked === 'string') throw new Error(asked)
  expect(asked.nodes.find(({ address }) => address === 'a')?.figures).toBeUndefined()
})
