import { EventEmitter } from 'node:events'
import type { Server } from 'node:net'
import { expect, test } from 'vitest'
import { API_LIMITS } from '../limits.ts'
import { openFilesMax } from '../open-files.ts'
import { boundConnections } from './connection-bounds.ts'

class FakeSocket extends EventEmitter {
  isDestroyed = false
  readonly remoteAddress: string
  constructor(remoteAddress: string) {
    super()
    this.remoteAddress = remoteAddress
  }
  destroy(): void {
    this.isDestroyed = true
    this.emit('close')
  }
}

function serverWith(trustedProxies: readonly string[] = []) {
  const server = new EventEmitter()
  // `boundConnections` needs only the server's events and one of its fields.
  boundConnections(server as Server, trustedProxies)
  return (address: string, socket = new FakeSocket(address)) => {
    server.emit('connection', socket)
    return socket
  }
}

const fill = (connect: ReturnType<typeof serverWith>, address: string) =>
  Array.from({ length: API_LIMITS.connectionsPerAddressMax }, () => connect(address))

test('an address may hold a limited number of connections, and open another as soon as one has closed', () => {
  const connect = serverWith()
  const [first] = fill(connect, '192.0.2.1')
  expect(connect('192.0.2.1').isDestroyed).toBe(true)
  expect(connect('192.0.2.2').isDestroyed).toBe(false)
  first?.emit('close')
  expect(connect('192.0.2.1').isDestroyed).toBe(false)
})

test('all addresses together leave three quarters of the files that the process may open', () => {
  const server = new EventEmitter() as Server
  boundConnections(server, [])
  expect(server.maxConnections).toBeGreaterThan(0)
  expect(server.maxConnections).toBeLessThanOrEqual(API_LIMITS.connectionsMax)
  expect(server.maxConnections).toBeLessThanOrEqual(openFilesMax() / 4)
})

test('a trusted proxy is not bounded', () => {
  const connect = serverWith(['192.0.2.0/24'])
  fill(connect, '192.0.2.1')
  expect(connect('192.0.2.1').isDestroyed).toBe(false)
})

test('a connection counts once, however often it is handed back to the server', () => {
  const connect = serverWith()
  const socket = connect('192.0.2.1')
  for (let i = 0; i < API_LIMITS.connectionsPerAddressMax; i++) connect('192.0.2.1', socket)
  expect([socket.isDestroyed, socket.listenerCount('close')]).toEqual([false, 1])
})
