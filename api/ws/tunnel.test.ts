import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { TrustedProxies } from '../http/trusted-proxies.ts'
import { dial } from './testing/raw-client.ts'
import { openSocketService, type SocketService } from './testing/socket-service.ts'

let service: SocketService
/** Clients that do not disconnect on their own. */
const stubborn: Socket[] = []

beforeEach(async () => {
  service = await openSocketService({ socketsMax: 1 })
  service.fleet.addUser('ada')
})
afterEach(async () => {
  for (const client of stubborn.splice(0)) client.destroy()
  await service.close()
})

/** Sends bytes and resolves with everything that comes back until the end. */
function exchange(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(service.port, '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('end', () => {
      socket.destroy()
      resolve(answer)
    })
    socket.on('error', reject)
  })
}

test('the loopback port answers only requests that come through the tunnel', async () => {
  for (const headers of [{}, { 'x-fleet-tunnel-secret': 'guess', 'x-fleet-tunnel': '1' }]) {
    const direct = await dial({ port: service.sockets.port, path: '/ws?token=ada', headers })
    expect(direct.handshake).toContain('403')
  }
})

describe('an upgrade request', () => {
  test('cannot bring headers of the tunnel, nor too many of its own', async () => {
    const client = await service.dial({
      path: '/ws?token=ada',
      headers: { 'x-fleet-tunnel-secret': 'guess', 'X-Fleet-Tunnel': '77', cookie: 'c'.repeat(8_000) },
    })
    await client.next('auth_ok')
  })

  test('with its first frame in the same packet loses nothing', async () => {
    const client = connect(service.port, '127.0.0.1')
    const handshake = [
      'GET /ws HTTP/1.1',
      'host: localhost',
      'upgrade: WebSocket',
      'connection: keep-alive, Upgrade',
      'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
      'sec-websocket-version: 13',
    ]
    // Before a login, anything else is refused. The frame has an empty mask.
    const body = Buffer.from('{"type":"ping"}')
    const frame = Buffer.concat([Buffer.from([0x81, 0x80 | body.length, 0, 0, 0, 0]), body])
    client.write(Buffer.concat([Buffer.from(`${handshake.join('\r\n')}\r\n\r\n`), frame]))
    const answer = await new Promise<string>((resolve) => {
      let text = ''
      client.on('data', (chunk) => {
        text += chunk.toString('latin1')
        if (text.includes('send an auth frame first')) resolve(text)
      })
    })
    expect(answer).toContain('101 Switching Protocols')
    client.destroy()
  })

  test.each([
    ['without a key', 'sec-websocket-version: 13'],
    ['of another version', 'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 8'],
  ])('%s is refused', async (_, headers) => {
    const answer = await exchange(
      `GET /ws HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: Upgrade\r\n${headers}\r\n\r\n`,
    )
    expect(answer).toContain('HTTP/1.1 400')
    expect(answer).toContain('sec-websocket-version: 13')
    expect(answer).toContain(
      '"code":"BAD_REQUEST","detail":"a handshake of WebSocket version 13 is expected"',
    )
  })

  test('for another path, or another protocol, goes to the HTTP server as if it offered nothing', async () => {
    const upgrade =
      'connection: close, Upgrade, HTTP2-Settings\r\nhttp2-settings: AAMAAABk\r\nupgrade: h2c\r\n'
    const body = 'content-length: 5\r\n\r\nhello'
    expect(await exchange(`POST /api/v1/x HTTP/1.1\r\nhost: x\r\n${upgrade}${body}`)).toContain(
      'POST /api/v1/x hello',
    )
    expect(await exchange(`GET /ws HTTP/1.1\r\nhost: x\r\n${upgrade}\r\n`)).toContain('GET /ws ')
    const websocket = 'connection: close, Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n'
    expect(await exchange(`GET /other HTTP/1.1\r\nhost: x\r\n${websocket}\r\n`)).toContain('GET /other ')
  })

  test('leaves a connection that stays open to ordinary requests', async () => {
    const get = (headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        request({ port: service.port, host: '127.0.0.1', path: '/x', headers }, (response) => {
          response.resume()
          response.on('end', () => resolve(response.statusCode))
        })
          .on('error', reject)
          .end()
      })
    expect(await get({ upgrade: 'h2c', connection: 'Upgrade' })).toBe(200)
    expect(await get({})).toBe(200)
  })

  test('gets the place of a client that was told to leave and does not', async () => {
    const key = 'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13'
    // Fills all sockets and all places for connections that are being refused.
    for (let i = 0; i < 65; i++) {
      const client = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true })
      client.write(
        `GET /ws HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: Upgrade\r\n${key}\r\n\r\n`,
      )
      stubborn.push(client)
      await once(client, 'data')
      client.pause()
    }
    const late = await service.dial({ path: '/ws?token=ada' })
    expect(late.handshake).toContain('HTTP/1.1 101')
    await late.next('auth_ok')
  })
})

test('clients behind a trusted proxy do not take the places of each other', async () => {
  const proxies = new TrustedProxies(['127.0.0.1'])
  const behind = await openSocketService(
    { loginsWaitingPerAddressMax: 1 },
    { clientOf: (request) => proxies.clientOf(request) },
  )
  behind.fleet.addUser('ada')
  const dialFrom = (address: string) => behind.dial({ headers: { 'x-forwarded-for': address } })
  const ada = await dialFrom('198.51.100.1')
  const crowd = [await dialFrom('203.0.113.9'), await dialFrom('203.0.113.9')]
  await crowd[0]?.until(() => crowd[0]?.closed !== undefined)
  ada.send({ type: 'auth', token: 'ada' })
  await ada.next('auth_ok')
  await behind.close()
})

describe('a broken client', () => {
  test.each([
    ['a reserved opcode', Buffer.from([0x83, 0x80, 0, 0, 0, 0])],
    ['text that is not UTF-8', Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xff, 0xff])],
  ])('that sends %s is closed, and the others live on', async (_, bytes) => {
    const client = await service.dial({ path: '/ws?token=ada' })
    await client.next('auth_ok')
    client.socket.write(bytes)
    await client.until(() => client.socket.destroyed || client.closed !== undefined)
    await expect.poll(() => service.sockets.counts().connections).toBe(0)
    await (await service.dial({ path: '/ws?token=ada' })).next('auth_ok')
  })

  test('that vanishes frees its place', async () => {
    const client = await service.dial({ path: '/ws?token=ada' })
    await client.next('auth_ok')
    client.socket.resetAndDestroy()
    await expect.poll(() => service.sockets.counts().connections).toBe(0)
  })
})
