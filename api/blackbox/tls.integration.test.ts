// TLS from outside: MQTT on its own port and in WebSockets, certificates in place of tokens, their revocation while devices
// are connected, REST and /ws.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as dialTls, type TLSSocket } from 'node:tls'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import packets from 'mqtt-packet'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { Authority } from '../cli/certs/authority.ts'
import { signFiles } from '../cli/certs/sign-files.ts'
import { BridgeProcesses } from './testing/ros-bridge.ts'
import { SmallRosbridge } from './testing/rosbridge.ts'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import { closedOf, publish } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'

const DAY_MS = 86_400_000
const now = Date.now()
const dir = mkdtempSync(join(tmpdir(), 'fleet-tls-'))
const make = (name: string, at = now) =>
  Authority.create(join(dir, name), { name, days: 30, crlUrl: undefined, now: at })
const authority = make('ours')
const files = authority.issueServer(['localhost', '127.0.0.1'], { days: 10, now })
const ca = readFileSync(join(dir, 'ours', 'ca.crt'))
const settings = {
  FLEET_TLS_CERT: files.certificate,
  FLEET_TLS_KEY: files.key,
  FLEET_TLS_CLIENT_CA: join(dir, 'ours', 'ca.crt'),
  FLEET_TLS_CRL: join(dir, 'ours', 'ca.crl'),
  FLEET_MQTTS_PORT: '0',
  FLEET_MQTT_WS_PORT: '0',
  // An empty value means not set, so with TLS there is no plain port.
  FLEET_MQTT_PORT: '',
}

const harness = new ServiceHarness()
let service: Service
let admin: Rest
let urls: readonly string[]
const tokens = new Map<string, string>()

beforeAll(async () => {
  service = await harness.start({ ...settings, FLEET_HTTP_TLS: 'off' })
  admin = await service.admin()
  for (const id of ['dev', 'other', 'doomed', 'reader']) tokens.set(id, await registerDevice(admin, id))
  const { body } = await service.nobody.get('//readyz?verbose')
  urls = [...new Set(JSON.stringify(body).match(/(mqtts?|wss):\/\/[\w.:]+/g))]
})
afterAll(async () => {
  await harness.close()
  rmSync(dir, { recursive: true })
})

const portOf = (scheme: string) =>
  Number(new URL(urls.find((url) => url.startsWith(`${scheme}:`)) ?? '').port)
const shown = (made: { certificate: string; key: string }) => ({
  cert: readFileSync(made.certificate),
  key: readFileSync(made.key),
})
const certificateOf = (id: string, by = authority, at = now) =>
  shown(by.issueDevice(id, { days: 5, now: at }))

/** What a device has that made its key and a request itself, which the CA then signed. */
function requestedBy(id: string) {
  const [key, csr] = [join(dir, `${id}.key`), join(dir, `${id}.csr`)]
  const args = ['req', '-new', '-nodes', '-newkey', 'ed25519', '-keyout', key, '-subj', `/CN=${id}`]
  execFileSync('openssl', [...args, '-out', csr], { stdio: 'pipe' })
  const [signed] = signFiles(authority, [csr], { days: 5, now })
  return shown({ certificate: signed?.certificate ?? expect.fail(String(signed?.error)), key })
}

/** Resolves with the client, or with the return code of the refusal. */
async function enter(clientId: string, options: IClientOptions): Promise<MqttClient | number | string> {
  const url = `mqtts://localhost:${portOf('mqtts')}`
  try {
    const client = await connectAsync(url, { clientId, ca, reconnectPeriod: 0, ...options }, false)
    client.on('error', () => undefined)
    return client
  } catch (error) {
    return error instanceof Error && 'code' in error && typeof error.code === 'number'
      ? error.code
      : String(error)
  }
}

async function entered(clientId: string, options: IClientOptions): Promise<MqttClient> {
  const client = await enter(clientId, options)
  return typeof client === 'object' ? client : expect.fail(`${clientId} was refused: ${client}`)
}

/** The end of the connection may overtake its reason. */
const REFUSED = /VERSION|ECONNRESET/

/** Resolves with the version of TLS that both sides agree on, or with the code of the failure. */
function secured(maxVersion: 'TLSv1.2' | 'TLSv1.3', port = portOf('mqtts')): Promise<string> {
  return new Promise((resolve) => {
    const socket = dialTls({ port, ca, servername: 'localhost', maxVersion }, () => {
      resolve(socket.getProtocol() ?? '')
      socket.destroy()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })
}

const byToken = (id: string) => ({ username: id, password: tokens.get(id) ?? '' })

describe('MQTT over TLS', () => {
  test('the ROS 2 bridge trusts the authority of its file, and shows its token or its certificate', async () => {
    const [bridges, ros] = [new BridgeProcesses(), new SmallRosbridge()]
    await ros.start()
    try {
      const made = authority.issueDevice('robot-c', { days: 5, now })
      const route = '{ ros_topic: /t, mqtt_topic: telemetry/t, direction: ros_to_mqtt }'
      const tls = (more: string) =>
        `connection: { tls: { enabled: true, ca_cert: ${join(dir, 'ours', 'ca.crt')}${more} }`
      const cert = `, client_cert: ${made.certificate}, client_key: ${made.key}`
      const files = [
        { deviceId: 'robot-t', connection: `${tls('')} }` },
        { deviceId: 'robot-c', connection: `${tls(cert)}, auth: { method: certificate } }` },
      ]
      for (const { deviceId, connection } of files) {
        const token = await registerDevice(admin, deviceId, { type: 'ros2_robot' })
        bridges.begin({
          ...{ deviceId, rosUrl: ros.url, rest: `${connection}\nbridges: [${route}]\n` },
          ...{
            mqttUrl: `mqtts://localhost:${portOf('mqtts')}`,
            token: deviceId === 'robot-t' ? token : undefined,
          },
        })
      }
      for (const { deviceId } of files)
        await until(`${deviceId} is online`, async () => {
          ros.publish('/t', { data: 5 })
          const { body } = await admin.get(`/telemetry/${deviceId}`)
          return Object(body['data']).t === 5
        })
      make('theirs')
      const trusting = `connection: { tls: { enabled: true, ca_cert: ${join(dir, 'theirs', 'ca.crt')} } }`
      const { output } = bridges.begin({
        ...{ deviceId: 'robot-x', rosUrl: ros.url, token: 'x' },
        ...{
          mqttUrl: `mqtts://localhost:${portOf('mqtts')}`,
          rest: `${trusting}\nbridges: [${route}]\n`,
        },
      })
      await until('it says why it cannot connect', () =>
        /cannot connect to mqtts:.*certificate.*trying again/.test(output().stderr),
      )
    } finally {
      await bridges.close()
      await ros.stop()
    }
  })

  test('tokens are accepted over TLS, and no plain port is open', async () => {
    expect(urls.map((url) => new URL(url).protocol)).toEqual(['mqtts:', 'wss:'])
    const client = await entered('dev', byToken('dev'))
    await publish(client, 'dev', { t: 1 })
    await client.endAsync()
    expect(await enter('dev', { username: 'dev', password: 'guessed' })).toBe(5)
    expect(await enter('dev', {})).toBe(5)
  })

  test('MQTT uses TLS 1.3 and nothing older', async () => {
    expect(await secured('TLSv1.3')).toBe('TLSv1.3')
    expect(await secured('TLSv1.2')).toMatch(REFUSED)
  })

  test('a device that knows TLS 1.2 only is let in where that is set', async () => {
    const lax = await harness.start({ ...settings, FLEET_HTTP_TLS: 'off', FLEET_TLS_MIN: '1.2' })
    const port = Number(new URL(lax.mqttUrl).port)
    expect(await secured('TLSv1.2', port)).toBe('TLSv1.2')
    expect(await secured('TLSv1.3', port)).toBe('TLSv1.3')
  })

  test('a device may show its certificate instead of its token, or both', async () => {
    const certificate = certificateOf('dev')
    const alone = await entered('dev', certificate)
    await publish(alone, 'dev', { t: 2 })
    await alone.endAsync()
    await (await entered('dev', { ...certificate, ...byToken('dev') })).endAsync()
    expect(await enter('dev', { ...certificate, username: 'dev', password: 'guessed' })).toBe(5)
    expect(await enter('dev', { ...certificate, ...byToken('other') })).toBe(5)
  })

  test('a device whose own request was signed connects with the key that never left it', async () => {
    const client = await entered('dev', requestedBy('dev'))
    await publish(client, 'dev', { t: 3 })
    await client.endAsync()
    expect(await enter('dev', requestedBy('other'))).toBe(5)
  })

  test('a certificate that is expired, foreign, revoked or of another device is refused', async () => {
    // Another CA with the same name is not trusted.
    const namesake = Authority.create(join(dir, 'namesake'), {
      name: 'ours',
      days: 100,
      crlUrl: undefined,
      now,
    })
    const refused = {
      late: certificateOf('late', authority, now - 10 * DAY_MS),
      alien: certificateOf('alien', make('foreign')),
      forged: certificateOf('forged', namesake),
      masked: certificateOf('reader'),
      revoked: certificateOf('revoked'),
    }
    for (const id of Object.keys(refused)) tokens.set(id, await registerDevice(admin, id))
    authority.revoke('revoked', { now })
    await until('the list is read again', async () => {
      const client = await enter('revoked', refused.revoked)
      if (typeof client === 'object') await client.endAsync()
      return typeof client === 'number'
    })
    for (const [id, certificate] of Object.entries(refused)) {
      expect([id, await enter(id, certificate)]).toEqual([id, 5])
      // A valid token does not make up for it.
      expect([id, await enter(id, { ...certificate, ...byToken(id) })]).toEqual([id, 5])
    }
    expect(await enter('unknown', certificateOf('unknown'))).toBe(5)
    await until('the expired one has a code of its own', async () =>
      (await admin.get('/audit?device_id=late')).text.includes('CERTIFICATE_EXPIRED'),
    )
    const reasons = ['has expired', 'was revoked', 'is not trusted', 'is of another device']
    await until('the audit has the reasons', async () => {
      const { text } = await admin.get('/audit?action=mqtt.connect')
      return reasons.every((reason) => text.includes(`the certificate ${reason}`))
    })
  })

  test('the certificate of a server is no certificate of a device', async () => {
    tokens.set('gateway1', await registerDevice(admin, 'gateway1'))
    const server = shown(authority.issueServer(['gateway1', 'localhost', '127.0.0.1'], { days: 1, now }))
    expect(await enter('gateway1', server)).toBe(5)
    // A valid token does not make up for it.
    expect(await enter('gateway1', { ...server, ...byToken('gateway1') })).toBe(5)
    await until('the audit has the reason', async () =>
      (await admin.get('/audit?action=mqtt.connect')).text.includes('belongs to a server, not to a device'),
    )
  })

  test('revoking a certificate ends its session, and a TLS session ticket does not bring it back', async () => {
    const certificate = certificateOf('doomed')
    const session = await ticketOf('doomed', certificate)
    const [doomed, spared] = [
      await entered('doomed', certificate),
      await entered('dev', certificateOf('dev')),
    ]
    const closed = closedOf(doomed)
    authority.revoke('doomed', { now })
    await closed
    expect(await enter('doomed', certificate)).toBe(5)
    expect(await resumed('doomed', session)).toBe(5)
    expect(spared.connected).toBe(true)
    await spared.endAsync()
  })

  test('a new server certificate is used without a restart', async () => {
    const serialOf = () =>
      new Promise<string>((resolve, reject) => {
        const socket = dialTls({ port: portOf('mqtts'), ca, servername: 'localhost' }, () => {
          resolve(socket.getPeerCertificate().serialNumber)
          socket.destroy()
        })
        socket.on('error', reject)
      })
    const before = await serialOf()
    authority.issueServer(['localhost', '127.0.0.1'], { days: 10, now })
    await until('the new one is served', async () => (await serialOf()) !== before)
    const client = await entered('dev', byToken('dev'))
    await client.endAsync()
    for (const scheme of ['mqtts', 'wss']) expect(await secured('TLSv1.2', portOf(scheme))).toMatch(REFUSED)
  })
})

describe('MQTT in WebSockets', () => {
  const url = () => `wss://localhost:${portOf('wss')}/mqtt`

  test('MQTT in WebSockets is the same broker, with packets of any size', async () => {
    const client = await connectAsync(
      url(),
      { clientId: 'reader', ca, reconnectPeriod: 0, ...byToken('reader') },
      false,
    )
    const received: string[] = []
    client.on('message', (topic) => received.push(topic))
    await client.subscribeAsync('fleet/reader/command', { qos: 1 })
    await publish(client, 'reader', { blob: 'x'.repeat(200_000), n: 7 })
    await admin.post('/commands/reader', { command: 'blink', data: { text: 'y'.repeat(60_000) } })
    await until('the command arrives', () => received.length === 1)
    const { body } = await admin.get('/telemetry/reader')
    expect(body['data']).toMatchObject({ n: 7 })
    await client.endAsync()
  })

  test('the WebSocket port serves MQTT at its path and nothing else', async () => {
    const open = (at: string, protocols: readonly string[]) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(at, [...protocols], { ca })
        socket.on('open', () => resolve(`open ${socket.protocol}`))
        socket.on('error', (error) => resolve(error.message))
      })
    expect(await open(url(), ['x', 'mqtt'])).toBe('open mqtt')
    expect(await open(url(), ['fleet.v1'])).toMatch(/400/)
    expect(await open(url().replace('/mqtt', '/ws'), ['mqtt'])).toMatch(/404/)
  })
})

test('REST and /ws use TLS too, unless a proxy does', async () => {
  const whole = await harness.start(settings)
  expect(new URL(whole.httpUrl).protocol).toBe('https:')
  const status = await new Promise<number | undefined>((resolve, reject) => {
    request(`${whole.httpUrl}/readyz`, { ca }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })
  expect(status).toBe(200)
  const socket = new WebSocket(whole.wsUrl, { ca })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  socket.send('{"type":"auth","token":"x"}')
  const code = await new Promise((resolve) => socket.once('close', resolve))
  expect(code).toBe(4401)
})

test('unusable TLS files end the start with one line that names them', async () => {
  const line = async (more: Record<`FLEET_${string}`, string>) =>
    harness.start({ ...settings, ...more }).then(
      () => 'started',
      (error: unknown) => String(error),
    )
  expect(await line({ FLEET_TLS_KEY: join(dir, 'none') })).toContain(
    `FLEET_TLS_KEY: ${join(dir, 'none')} cannot be read`,
  )
  expect(await line({ FLEET_TLS_KEY: join(dir, 'ours', 'ca.key') })).toContain(
    'are not a certificate and its private key',
  )
  expect(await line({ FLEET_TLS_CRL: files.certificate })).toContain('is not a certificate revocation list')
})

function dial(options: object): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = dialTls({ port: portOf('mqtts'), ca, servername: 'localhost', ...options }, () =>
      resolve(socket),
    )
    socket.once('error', reject)
  })
}

/** The TLS session with which a client resumes without showing its certificate again. */
async function ticketOf(clientId: string, certificate: object): Promise<Buffer> {
  const socket = await dial(certificate)
  const ticket = new Promise<Buffer>((resolve) => socket.once('session', resolve))
  socket.write(
    packets.generate({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 4,
      clientId,
      clean: true,
      keepalive: 60,
    }),
  )
  const session = await ticket
  socket.destroy()
  return session
}

async function resumed(clientId: string, session: Buffer): Promise<number | undefined> {
  const socket = await dial({ session })
  const answer = new Promise<number | undefined>((resolve) => {
    socket.once('data', (bytes) => resolve(bytes[3]))
    socket.once('close', () => resolve(undefined))
  })
  socket.write(
    packets.generate({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 4,
      clientId,
      clean: true,
      keepalive: 60,
    }),
  )
  const code = await answer
  socket.destroy()
  return code
}
