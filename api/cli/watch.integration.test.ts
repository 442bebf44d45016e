// Following the live stream over lost connections, with a stream that the test opens and breaks.
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import type { Client } from '../../schemas/client.ts'
import type { Cli } from './cli.ts'
import { EXIT, Failure } from './failure.ts'
import { followDeadLetters } from './follow-dead-letters.ts'
import { createOutput } from './output.ts'
import { watch } from './watch.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

async function setUp(token: () => Promise<string>, client: Partial<Client> = {}) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'fleet.v1' })
  await new Promise((resolve) => server.once('listening', resolve))
  ends.push(() => server.close())
  server.on('connection', (socket) => {
    socket.send('{"type":"auth_ok"}')
    socket.send('{"type":"subscribed","id":"s1"}')
  })
  const { port } = server.address() as AddressInfo
  let printed = ''
  const stdout = { write: (text: string) => (printed += text) }
  const stderr = { write: () => undefined }
  const stop = new AbortController()
  ends.push(() => stop.abort())
  const cli = {
    output: createOutput({ stdout, stderr }, { form: 'table', isPlain: true, columns: undefined }),
    signal: stop.signal,
    connect: async () => ({ client, url: `http://127.0.0.1:${port}`, token }),
  } as unknown as Cli
  const breakOff = () => {
    for (const socket of server.clients) socket.terminate()
  }
  return { cli, server, breakOff, stop, lines: () => printed.split('\n').slice(0, -1) }
}

test('a watcher whose login was ended says so instead of trying for ever', async () => {
  let tokens = 0
  const { cli, server, breakOff } = await setUp(async () => {
    if (++tokens === 1) return 'token'
    throw new Failure(EXIT.notAllowed, 'not logged in')
  })
  server.once('connection', breakOff)
  const watching = watch(cli, { channel: 'events', filter: {} }, () => undefined)
  await expect(watching).rejects.toThrow('not logged in')
})

test('a watcher is told since when it has missed events', async () => {
  const { cli, breakOff, stop } = await setUp(async () => 'token')
  const begun = Date.now()
  const losses: (Date | undefined)[] = []
  const onSubscribed = (lostAt: Date | undefined) => void losses.push(lostAt)
  const watching = watch(cli, { channel: 'events', filter: {}, onSubscribed }, () => undefined)
  await expect.poll(() => losses).toEqual([undefined])
  breakOff()
  await expect.poll(() => losses.length).toBe(2)
  expect(losses[1]?.getTime()).toBeGreaterThanOrEqual(begun)
  stop.abort()
  await watching
})

test('no dead letter that came while the connection was lost is left out', async () => {
  const letters: { id: string }[] = []
  const add = (count: number) => {
    for (let n = 0; n < count; n++) letters.push({ id: String(letters.length) })
  }
  async function* listDeadLetters({ query }: { query: { per_page: number } }) {
    const newest = [...letters].reverse()
    for (let at = 0; at === 0 || at < newest.length; at += query.per_page)
      yield { data: newest.slice(at, at + query.per_page) }
  }
  const pages = { listDeadLetters } as unknown as Client['pages']
  const { cli, breakOff, stop, lines } = await setUp(async () => 'token', { pages })
  add(30)
  const following = followDeadLetters(cli, { device: undefined, reason: undefined, recent: 10 })
  await expect.poll(() => lines().length).toBe(10)
  add(25)
  breakOff()
  await expect.poll(() => lines().length).toBe(35)
  stop.abort()
  await following
})
