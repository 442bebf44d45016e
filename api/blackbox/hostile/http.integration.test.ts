// Cheap requests, connections and upgrades that once stopped the service, each beside an honest user and device.
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type Service, ServiceHarness, until } from '../testing/service.ts'
import { Honest, repeat } from './testing/honest.ts'

const harness = new ServiceHarness()
let service: Service
let honest: Honest
const sockets: { destroy(): void }[] = []

beforeAll(async () => {
  service = await harness.start({ FLEET_ANONYMOUS_REQUEST_RATE: '1000' })
  honest = await Honest.open(service)
})
afterAll(async () => {
  honest.close()
  for (const socket of sockets) socket.destroy()
  await harness.close()
})

function dial(): Socket {
  const { hostname, port } = new URL(service.httpUrl)
  // A peer that never closes its own half.
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  socket.on('error', () => undefined)
  sockets.push(socket)
  return socket
}

const upgrade = (key: string) =>
  `GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`

test('registrations with a long name of blanks slow nobody down', async () => {
  const name = `${' '.repeat(15_000)}\u0001`
  await honest.bears((stop) =>
    repeat(stop, async () => {
      await service.nobody.post('/auth/register', { email: 'x@example.com', password: 'correct horse', name })
      await delay(50)
    }),
  )
})

test('metrics asked for a thousand times in one packet slow nobody down', async () => {
  await honest.bears((stop) =>
    repeat(stop, async () => {
      const socket = dial()
      socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(1_000))
      await delay(500)
      socket.destroy()
    }),
  )
})

test.each([
  ['bytes that are no request', 'nonsense\r\n\r\n'],
  ['a header that is too large', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
  ['an upgrade with a key that is none', upgrade('ÿ'.repeat(24))],
  ['an upgrade with a key of another length', upgrade('abc')],
])('a peer that sends %s and never closes is let go', async (_, bytes) => {
  const closed = Array.from({ length: 20 }, () => {
    const socket = dial()
    socket.write(bytes, 'latin1')
    socket.resume()
    return new Promise<string>((resolve) => socket.once('close', () => resolve('closed')))
  })
  // A socket whose other side is gone is reset by what is sent to it.
  const poking = new AbortController()
  const poke = repeat(poking.signal, async () => {
    for (const socket of sockets as Socket[]) socket.write('x')
    await delay(100)
  })
  expect(new Set(await Promise.all(closed))).toEqual(new Set(['closed']))
  poking.abort()
  await poke
})

describe('the live stream', () => {
  const open = () => {
    const socket = new WebSocket(service.wsUrl)
    socket.on('error', () => undefined)
    sockets.push({ destroy: () => socket.terminate() })
    return socket
  }
  const closeCode = (socket: WebSocket) => new Promise<number>((resolve) => socket.once('close', resolve))

  test('stays open to users while an address opens all sockets it can', async () => {
    const crowd = Array.from({ length: 400 }, open)
    await until('the first to give way', () =>
      crowd.some(({ readyState }) => readyState === WebSocket.CLOSED),
    )
    const { token = '' } = await service.admin()
    const user = new WebSocket(`${service.wsUrl}?token=${token}`)
    const first = await new Promise<string>((resolve) =>
      user.once('message', (data) => resolve(String(data))),
    )
    expect(JSON.parse(first)).toMatchObject({ type: 'auth_ok' })
    for (const socket of [...crowd, user]) socket.terminate()
  })

  test('ends a socket that sends anything else before its login', async () => {
    const socket = open()
    const code = closeCode(socket)
    socket.once('open', () => socket.send('{"type":"ping"}'))
    expect(await code).toBe(4401)
  })

  test('ends a socket that sends more frames than anyone needs', async () => {
    const { token = '' } = await service.admin()
    const socket = new WebSocket(`${service.wsUrl}?token=${token}`)
    socket.on('error', () => undefined)
    const code = closeCode(socket)
    socket.once('open', () => {
      for (let i = 0; i < 2_000; i++) socket.send('{"type":"ping"}')
    })
    expect(await code).toBe(4429)
  })
})

describe('a page that makes its own name point at this machine', () => {
  const ask = (line: string, host: string, more = '') =>
    new Promise<string>((resolve) => {
      const socket = dial()
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk.toString()
      })
      socket.once('end', () => resolve(text))
      socket.write(`${line} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${more}\r\n`)
    })

  test('is told that the service does not go by that name, on REST and on /ws', async () => {
    expect(await ask('GET /api/v1/openapi.json', 'evil.example')).toContain('421 Misdirected Request')
    const offer = upgrade('AAAAAAAAAAAAAAAAAAAAAA==').split('\r\n').slice(3, -2).join('\r\n')
    expect(await ask('GET /ws', 'evil.example', `Connection: Upgrade\r\n${offer}\r\n`)).toContain('421')
    expect(await ask('GET /livez', 'evil.example')).toContain('200 OK')
  })

  test('cannot hide its name behind another one', async () => {
    expect(await ask('GET /livez', 'localhost', 'Host: evil.example\r\n')).toContain('400 Bad Request')
  })

  test('cannot register, and neither can a proxy for somebody else', async () => {
    const register = (more: string) => {
      const body = '{"email":"new@example.com","password":"correct horse battery","name":"N","role":"admin"}'
      const headers = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n${more}`
      return ask('POST /api/v1/auth/register', 'localhost', `${headers}\r\n${body}`)
    }
    expect(await register('X-Forwarded-For: 203.0.113.7\r\n')).toContain('REGISTRATION_LOCKED')
    expect(await register('')).toContain('201 Created')
  })
})
