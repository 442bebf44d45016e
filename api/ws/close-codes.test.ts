import { afterEach, expect, test } from 'vitest'
import type { RawClient } from './testing/raw-client.ts'
import { openSocketService, type SocketService } from './testing/socket-service.ts'

let service: SocketService

async function login(limits: Parameters<typeof openSocketService>[0] = {}): Promise<RawClient> {
  service = await openSocketService(limits)
  service.fleet.addUser('ada')
  return service.login('ada')
}

afterEach(() => service.close())

test('a client that answers no ping is told so, and not that its frames are broken', async () => {
  // uWebSockets.js has no shorter timeout than eight seconds.
  const client = await login({ socketPingEverySec: 4, socketPongSecMax: 4 })
  await client.until(() => client.closed !== undefined)
  expect(client.closed).toEqual({ code: 1011, reason: 'no answer to a ping' })
})

// [RFC 6455 8.1, 7.4.1]
test('text that is not UTF-8 ends the socket with 1007', async () => {
  const client = await login()
  // A text frame with an empty mask.
  client.socket.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe]))
  await client.until(() => client.closed !== undefined)
  expect(client.closed).toEqual({ code: 1007, reason: 'text that is not UTF-8' })
})

test('a frame that breaks the protocol ends the socket with 1002', async () => {
  const client = await login()
  // A reserved bit is set.
  client.socket.write(Buffer.from([0xf1, 0x80, 0, 0, 0, 0]))
  await client.until(() => client.closed !== undefined)
  expect(client.closed).toEqual({ code: 1002, reason: 'not a valid frame' })
})
