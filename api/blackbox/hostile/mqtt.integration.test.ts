// What a stranger or a single device can do at the MQTT doors, each beside an honest user and device.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as dialTls, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, test } from 'vitest'
import { Authority } from '../../cli/certs/authority.ts'
import { ServiceHarness } from '../testing/service.ts'
import { Honest, repeat } from './testing/honest.ts'

const dir = mkdtempSync(join(tmpdir(), 'fleet-hostile-'))
const authority = Authority.create(join(dir, 'ca'), {
  name: 'CA',
  days: 2,
  crlUrl: undefined,
  now: Date.now(),
})
const files = authority.issueServer(['localhost', '127.0.0.1'], { days: 1, now: Date.now() })
const ca = readFileSync(join(dir, 'ca', 'ca.crt'))

const harness = new ServiceHarness()
let honest: Honest | undefined
let port = 0
const sockets: TLSSocket[] = []

beforeAll(async () => {
  const service = await harness.start({
    FLEET_TLS_CERT: files.certificate,
    FLEET_TLS_KEY: files.key,
    FLEET_HTTP_TLS: 'off',
    FLEET_MQTT_PORT: '0',
    FLEET_MQTTS_PORT: '0',
    FLEET_MQTT_WS_PORT: '0',
  })
  const { body } = await service.nobody.get('//readyz?verbose')
  const urlOf = (scheme: string) => JSON.stringify(body).match(`${scheme}://[\\w.:]+`)?.[0] ?? ''
  port = Number(new URL(urlOf('wss')).port)
  honest = await Honest.open({ ...service, mqttUrl: urlOf('mqtt') })
})
afterAll(async () => {
  honest?.close()
  for (const socket of sockets) socket.destroy()
  await harness.close()
  rmSync(dir, { recursive: true })
})

/** A peer that never closes its own half. */
function dial(): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', servername: 'localhost', port, ca, allowHalfOpen: true }
    const socket = dialTls(options)
    socket.on('error', () => undefined)
    socket.once('secureConnect', () => resolve(socket)).once('close', () => reject(new Error('closed')))
    sockets.push(socket)
  })
}

const upgrade = (protocol: string) =>
  `GET /mqtt HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`
/** A masked ping of 125 bytes. */
const PING = Buffer.concat([Buffer.from([0x89, 0xfd, 0, 0, 0, 0]), Buffer.alloc(125)])

test.each([
  ['asks for another protocol', upgrade('other')],
  ['sends bytes that are no request', 'nonsense\r\n\r\n'],
  ['asks for no WebSocket', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
])('a peer of the WebSocket port that %s and never closes is let go', async (_, bytes) => {
  const peers = await Promise.all(Array.from({ length: 20 }, dial))
  const closed = Promise.all(peers.map((socket) => new Promise((resolve) => socket.once('close', resolve))))
  for (const socket of peers) socket.resume().write(bytes)
  // A socket whose other side is gone is reset by what is sent to it.
  const poking = new AbortController()
  const poke = repeat(poking.signal, async () => {
    for (const socket of peers) socket.write('x')
    await delay(100)
  })
  await closed
  poking.abort()
  await poke
})

test('WebSocket pings whose answers nobody takes are no more than the service can bear', async () => {
  await honest?.bears((stop) =>
    repeat(stop, async () => {
      const socket = await dial()
      socket.write(upgrade('mqtt'))
      const pings = Buffer.concat(Array.from({ length: 1_000 }, () => PING))
      while (!stop.aborted && !socket.destroyed) {
        socket.write(pings)
        await delay(1)
      }
      socket.destroy()
    }),
  )
})
