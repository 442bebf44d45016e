import { connect, connectAsync } from 'mqtt'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../fake-host.ts'
import { EmqxStandIn, MOSQUITTO } from './stand-in.ts'

interface IngestMessage {
  readonly topic: string
  readonly payload: string
  readonly up: Readonly<Record<string, unknown>>
}

describe.skipIf(MOSQUITTO === undefined)('the stand-in for EMQX', () => {
  let emqx: EmqxStandIn
  const ends: (() => Promise<void>)[] = []

  beforeEach(async () => {
    emqx = await EmqxStandIn.start({ authenticate: ({ password }) => password !== 'wrong' })
  })
  afterEach(async () => {
    for (const end of ends.splice(0)) await end()
    await emqx.stop()
  })

  async function ingest(): Promise<readonly IngestMessage[]> {
    const { user: username, password } = emqx.ingest
    const client = connect(emqx.url, {
      clientId: 'fleet:ingest:0',
      username,
      password,
      protocolVersion: 5,
      clean: false,
      properties: { sessionExpiryInterval: 600 },
      reconnectPeriod: 20,
    })
    ends.push(() => client.endAsync(true))
    const heard: IngestMessage[] = []
    client.on('message', (topic, payload, { properties }) => {
      heard.push({ topic, payload: payload.toString(), up: { ...properties?.userProperties } })
    })
    await client.subscribeAsync('ingest/#', { qos: 1 })
    return heard
  }

  async function device(clientId: string, more: object = {}) {
    const client = await connectAsync(`mqtt://127.0.0.1:${emqx.devicePort}`, {
      clientId,
      reconnectPeriod: 0,
      ...more,
    })
    client.on('error', () => {})
    ends.push(() => client.endAsync(true))
    return client
  }

  function call(method: 'DELETE' | 'POST', path: string, body?: object): Promise<Response> {
    const { url, key, secret } = emqx.emqxApi
    const headers = { authorization: `Basic ${Buffer.from(`${key}:${secret}`).toString('base64')}` }
    return fetch(`${url}/api/v5/${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }

  const kinds = (heard: readonly IngestMessage[]) => heard.map(({ topic }) => topic.replace(/^.*\//, ''))
  const fieldsOf = ({ payload }: IngestMessage) => JSON.parse(payload)

  test('a device that connects, publishes, subscribes and leaves is reported in order', async () => {
    const heard = await ingest()
    const client = await device('dev_abc')
    await client.publishAsync('fleet/dev_abc/telemetry', '{"t":1}', { qos: 1 })
    await client.subscribeAsync('fleet/dev_abc/#', { qos: 1 })
    await client.publishAsync('fleet/dev_abc/status', 'on', { qos: 2, retain: true })
    await client.endAsync()
    await until(() => heard.length === 5, 'all to be heard')
    expect(kinds(heard)).toEqual(['$connected', 'telemetry', '$subscribed', 'status', '$disconnected'])
    const [connected, telemetry, , status, disconnected] = heard
    expect(telemetry).toMatchObject({
      topic: 'ingest/19/fleet/dev_abc/telemetry',
      payload: '{"t":1}',
      up: { retain: 'false', qos: '1' },
    })
    expect(status?.up).toMatchObject({ retain: 'true', qos: '2' })
    expect(String(telemetry?.up['id'])).toMatch(/^[0-9A-F]{32}$/)
    expect(String(status?.up['id']) > String(telemetry?.up['id'])).toBe(true)
    expect(connected && fieldsOf(connected)).toMatchObject({ clientid: 'dev_abc', clean_start: true, p: 19 })
    expect(disconnected && fieldsOf(disconnected)).toMatchObject({ reason: 'normal' })
  })

  test('a command that the device acknowledges is reported', async () => {
    const heard = await ingest()
    const client = await device('dev_abc')
    await client.subscribeAsync('fleet/dev_abc/command', { qos: 1 })
    const { user: username, password } = emqx.api
    const api = await connectAsync(emqx.url, { clientId: 'fleet:api:0', username, password })
    ends.push(() => api.endAsync(true))
    await api.publishAsync('fleet/dev_abc/command', '{"request_id":"cmd_1"}', { qos: 1 })
    await until(() => kinds(heard).includes('$delivered'), 'the acknowledgement')
    const last = heard.at(-1)
    expect(last && fieldsOf(last)).toMatchObject({ topic: 'fleet/dev_abc/command', request_id: 'cmd_1' })
  })

  test('the will of a lost device is published, and a device that connects again ends its older session', async () => {
    const heard = await ingest()
    const will = { topic: 'fleet/d/status', payload: Buffer.from('gone'), qos: 1 as const, retain: false }
    const first = await device('d', { will })
    const second = await device('d', { will })
    await until(() => kinds(heard).includes('$disconnected'), 'the takeover')
    second.stream.destroy()
    await until(() => kinds(heard).filter((kind) => kind === '$disconnected').length === 2, 'the end')
    const reasons = heard.filter(({ topic }) => topic.endsWith('$disconnected')).map(fieldsOf)
    expect(reasons.map(({ reason }) => reason)).toEqual(['discarded', 'tcp_closed'])
    const [once, end] = [
      ['$connected', 'status', '$disconnected'],
      ['status', '$disconnected'],
    ]
    expect(kinds(heard).filter((_, index) => index !== 3)).toEqual([...once, ...end])
    expect(first.connected).toBe(false)
  })

  test('a device with a wrong password or a ban is refused', async () => {
    await expect(device('d', { username: 'd', password: 'wrong' })).rejects.toThrow()
    const { url, key, secret } = emqx.emqxApi
    const headers = { authorization: `Basic ${Buffer.from(`${key}:${secret}`).toString('base64')}` }
    const client = await device('d')
    const ban = await fetch(`${url}/api/v5/banned`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ as: 'clientid', who: 'd', by: 'fleet', reason: 'decommissioned' }),
    })
    expect(ban.status).toBe(200)
    await until(() => !client.connected, 'the kick')
    await expect(device('d')).rejects.toThrow()
    expect((await fetch(`${url}/api/v5/banned/clientid/d`, { method: 'DELETE', headers })).status).toBe(204)
    await device('d')
    expect((await fetch(`${url}/api/v5/clients/d`, { method: 'DELETE', headers })).status).toBe(204)
    expect((await fetch(`${url}/api/v5/clients/e`, { method: 'DELETE', headers })).status).toBe(404)
    expect((await fetch(`${url}/api/v5/clients/e`, { method: 'DELETE' })).status).toBe(401)
  })

  test('a kick publishes the will first, and a ban publishes none', async () => {
    const heard = await ingest()
    const will = { topic: 'fleet/d/status', payload: Buffer.from('gone'), qos: 1 as const, retain: true }
    const kicked = await device('d', { will })
    await call('DELETE', 'clients/d')
    await until(() => !kicked.connected, 'the kick')
    const banned = await device('d', { will })
    await call('POST', 'banned', { as: 'clientid', who: 'd', by: 'fleet', reason: 'decommissioned' })
    await until(() => !banned.connected, 'the ban')
    await until(() => kinds(heard).filter((kind) => kind === '$disconnected').length === 2, 'the ends')
    expect(kinds(heard)).toEqual(['$connected', 'status', '$disconnected', '$connected', '$disconnected'])
    const reasons = heard.filter(({ topic }) => topic.endsWith('$disconnected')).map(fieldsOf)
    expect(reasons.map(({ reason }) => reason)).toEqual(['kicked', 'kicked'])
    const again = await call('POST', 'banned', { as: 'clientid', who: 'd', by: 'fleet', reason: 'twice' })
    expect([again.status, ((await again.json()) as { readonly code?: string }).code]).toEqual([
      400,
      'ALREADY_EXISTS',
    ])
  })

  test('a denied message has reason 135, one that nobody reads 16, and 17 levels end the session', async () => {
    const heard = await ingest()
    const client = await device('d', { protocolVersion: 5 })
    const reasons: (number | undefined)[] = []
    client.on('packetreceive', (packet) => {
      if (packet.cmd === 'puback' || packet.cmd === 'disconnect') reasons.push(packet.reasonCode)
    })
    for (const topic of ['fleet/e/telemetry', 'fleet/d/command', 'fleet/d/telemetry'])
      await client.publishAsync(topic, '{}', { qos: 1 }).catch(() => {})
    client.publish(`fleet/d/${'x/'.repeat(14)}x`, '{}', { qos: 1 })
    await until(() => kinds(heard).includes('$disconnected'), 'the end')
    expect(reasons).toEqual([0x87, 0x87, 0x10, 0x90])
    const last = heard.at(-1)
    expect(last && fieldsOf(last)).toMatchObject({ reason: 'topic_name_invalid' })
    expect(kinds(heard)).toEqual(['$connected', '$refused', '$refused', 'telemetry', '$disconnected'])
  })

  test('what a service publishes on a device’s topic is no message of the device', async () => {
    const heard = await ingest()
    const { user: username, password } = emqx.api
    const api = await connectAsync(emqx.url, { clientId: 'fleet:api:0', username, password })
    ends.push(() => api.endAsync(true))
    await api.publishAsync('fleet/d/status', '', { qos: 1, retain: true })
    const client = await device('d')
    await client.publishAsync('fleet/d/log', 'after it', { qos: 1 })
    await until(() => kinds(heard).includes('log'), 'the device')
    expect(kinds(heard)).toEqual(['$connected', 'log'])
  })

  test('messages that wait for the ingress survive a restart and a kill', async () => {
    const heard = await ingest()
    const client = await device('d')
    await ends.shift()?.()
    await client.publishAsync('fleet/d/telemetry', 'one', { qos: 1 })
    await emqx.restart()
    const again = await device('d')
    await again.publishAsync('fleet/d/telemetry', 'two', { qos: 1 })
    // A later message is written, so the one before it is, too.
    await again.publishAsync('fleet/d/log', 'three', { qos: 1 })
    await emqx.kill9()
    await emqx.revive()
    const later = await ingest()
    await until(() => later.some(({ payload }) => payload === 'two'), 'what waited')
    expect(heard.filter(({ topic }) => topic.endsWith('telemetry'))).toEqual([])
    expect(later.filter(({ topic }) => topic.endsWith('telemetry')).map(({ payload }) => payload)).toEqual([
      'one',
      'two',
    ])
  })
})
