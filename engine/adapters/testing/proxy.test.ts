import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../redis/testing/redis-server.ts'
import { CutProxy } from './proxy.ts'

let server: Server
let proxy: CutProxy
/** Everything the server received, over all connections. */
let heard = ''

beforeAll(async () => {
  server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      heard += bytes.toString()
      socket.write(`echo ${bytes}`)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has an address object.
  const { port } = server.address() as AddressInfo
  proxy = await CutProxy.open(`127.0.0.1:${port}`)
})
afterAll(() => {
  proxy.close()
  server.close()
})

function dial(): { readonly socket: Socket; said: () => string } {
  const [host, port] = proxy.url.split(':')
  const socket = connect(Number(port), host)
  let said = ''
  socket.on('error', () => undefined)
  socket.on('data', (bytes) => {
    said += bytes.toString()
  })
  return { socket, said: () => said }
}

test('delayed bytes arrive later, in order, and before the end', async () => {
  const { socket, said } = dial()
  proxy.delayMs = 50
  const startedAt = performance.now()
  socket.write('a')
  socket.write('b')
  await until(() => said().includes('b'), 'the echo')
  expect(performance.now() - startedAt).toBeGreaterThan(99)
  socket.end('c')
  await until(() => said().includes('c'), 'the last echo')
  proxy.delayMs = 0
  await once(socket, 'close')
})

test('frozen bytes move on afterwards, and none are lost', async () => {
  heard = ''
  const { socket, said } = dial()
  socket.write('a')
  await until(() => said() === 'echo a', 'the first echo')
  proxy.isFrozen = true
  socket.write('x'.repeat(3_000_000))
  const other = dial()
  other.socket.write('y')
  await once(other.socket, 'connect')
  expect(heard).toBe('a')
  proxy.isFrozen = false
  await until(() => heard.length === 3_000_002, 'all of it')
  for (const each of [socket, other.socket]) each.destroy()
})

test('a cut connection ends on both sides, and a closed proxy refuses new ones', async () => {
  const { socket, said } = dial()
  socket.write('a')
  await until(() => said() === 'echo a', 'the echo')
  proxy.isClosed = true
  proxy.cut()
  await once(socket, 'close')
  const next = dial()
  await once(next.socket, 'close')
  proxy.isClosed = false
})
