import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { LIMITS } from '../../limits.ts'
import type { Mesh } from '../../ports/mesh.ts'
import { type NatsLink, openNats } from '../nats/nats-link.ts'
import { NATS_SERVER, NatsServer } from '../nats/testing/nats-server.ts'
import { CutProxy } from '../testing/proxy.ts'
import { openNatsMesh } from './nats.ts'
import { meshContract } from './testing/contract.ts'

const FOREVER_MS = 600_000
const question = new Uint8Array([1, 2, 3])
const lost = { code: 'NODE_UNREACHABLE', retryable: true }
const absent = { code: 'NODE_ABSENT', retryable: true }

describe.skipIf(NATS_SERVER === undefined)('with a nats-server (needs one that `npm test` finds)', () => {
  const links: NatsLink[] = []
  const meshes: Mesh[] = []
  const warnings: string[] = []
  let server: NatsServer
  let count = 0

  async function open(url = server.url): Promise<Mesh> {
    const link = await openNats({ servers: [url], durability: 'process', warn: () => {} })
    links.push(link)
    const warn = (message: string) => warnings.push(message)
    const mesh = openNatsMesh(link, { address: `n${count++}`, warn })
    meshes.push(mesh)
    return mesh
  }

  /** Serves questions, and returns once the other nodes know. */
  async function serve(mesh: Mesh, answer: (bytes: Uint8Array) => Promise<Uint8Array>): Promise<void> {
    mesh.serve(answer)
    await expect(mesh.ask('nobody', question, FOREVER_MS)).rejects.toMatchObject(absent)
  }

  beforeAll(async () => {
    server = await NatsServer.start()
  })
  afterEach(async () => {
    warnings.length = 0
    for (const mesh of meshes.splice(0)) await mesh.close()
    for (const link of links.splice(0)) await link.close()
  })
  afterAll(() => server.remove())

  meshContract({ name: 'nats', open: async () => [await open(), await open()] })

  test('questions under way fail as soon as the server dies, and all works again after its restart', async () => {
    const [asker, asked] = [await open(), await open()]
    const heard: string[] = []
    asked.subscribe('topic', (news) => heard.push(news.join()))
    let arrived = () => {}
    const isThere = new Promise<void>((resolve) => {
      arrived = resolve
    })
    await serve(asked, (bytes) => {
      if (bytes.length > 0) return Promise.resolve(bytes)
      arrived()
      return new Promise(() => {})
    })
    const underWay = expect(asker.ask(asked.address, new Uint8Array(0), FOREVER_MS)).rejects.toMatchObject(
      lost,
    )
    await isThere
    await server.kill()
    await underWay
    await expect.poll(() => [asker.isUp(), asked.isUp()]).toEqual([false, false])
    asker.publish('topic', new Uint8Array([1]))
    await expect(asker.ask(asked.address, question, FOREVER_MS)).rejects.toMatchObject(lost)
    await server.restart()
    await expect.poll(() => [asker.isUp(), asked.isUp()]).toEqual([true, true])
    expect([...(await asker.ask(asked.address, question, 5_000))]).toEqual([...question])
    asker.publish('topic', new Uint8Array([2]))
    // News sent without a connection are never delivered.
    await expect.poll(() => heard).toEqual(['2'])
  })

  test('a node that is cut off is absent for the others until it is back', async () => {
    const proxy = await CutProxy.open(server.url)
    const [asker, asked] = [await open(), await open(proxy.url)]
    await serve(asked, async (bytes) => bytes)
    expect(await asker.ask(asked.address, question, 5_000)).toHaveLength(3)
    proxy.isClosed = true
    proxy.cut()
    await expect.poll(() => asked.isUp()).toBe(false)
    await expect(asker.ask(asked.address, question, FOREVER_MS)).rejects.toMatchObject(absent)
    proxy.isClosed = false
    await expect.poll(() => asked.isUp()).toBe(true)
    expect(await asker.ask(asked.address, question, 5_000)).toHaveLength(3)
    proxy.close()
  })

  test('a node that fails to answer also warns its own operator', async () => {
    const [asker, asked] = [await open(), await open()]
    await serve(asked, () => Promise.reject(new Error('a bug')))
    await expect(asker.ask(asked.address, question, 5_000)).rejects.toMatchObject({ code: 'NODE_FAILED' })
    expect(warnings).toEqual(['a question of another node could not be answered; this is a bug in Fleet'])
  })

  test('news that the server does not accept are dropped beyond a bound, with one warning', async () => {
    const mesh = await open()
    const large = new Uint8Array(LIMITS.meshMessageBytesMax)
    const fits = LIMITS.meshWaitingBytesMax / large.length
    server.pause()
    for (let n = 0; n < fits; n++) mesh.publish('topic', large)
    expect(warnings).toEqual([])
    mesh.publish('topic', large)
    mesh.publish('topic', large)
    expect(warnings).toEqual([
      'NATS is too slow, so live updates for other nodes are dropped; their clients will resync',
    ])
    server.resume()
    const heard: number[] = []
    mesh.subscribe('topic', ({ length }) => heard.push(length))
    const tell = () => {
      mesh.publish('topic', question)
      return heard.includes(question.length)
    }
    await expect.poll(tell).toBe(true)
  })

  test('an address must be a single word of a subject', async () => {
    const [link] = [await openNats({ servers: [server.url], durability: 'process', warn: () => {} })]
    links.push(link)
    expect(() => openNatsMesh(link, { address: 'a.b', warn: () => {} })).toThrow(
      'is not a valid node address',
    )
    await expect((await open()).ask('*', question, FOREVER_MS)).rejects.toMatchObject(lost)
  })
})
