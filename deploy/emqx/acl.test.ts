// Checks what clients may do by acl.conf, and what services may do by their tokens.
import { generateKeyPairSync, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseDeviceId } from '../../schemas/ids.ts'
import { CLOUD_ONLY_SUFFIXES } from '../../schemas/topics.ts'
import { type Client, judge, parseAcl, toAclRules } from '../testing/acl.ts'
import { serviceToken } from '../testing/service-token.ts'

const acl = parseAcl(readFileSync(new URL('acl.conf', import.meta.url), 'utf8'))
const device = { clientid: 'dev_a', client_attrs: { device: 'dev_a' } }
const may = (client: Client, action: 'publish' | 'subscribe', topic: string) =>
  judge(acl, client, { action, topic }) === 'allow'

test('a device with a certificate may use its namespace, except to publish on the cloud’s topics', () => {
  for (const suffix of ['telemetry', 'status', 'shadow/reported', 'command/ack', 'sub/child/telemetry'])
    expect([suffix, may(device, 'publish', `fleet/dev_a/${suffix}`)]).toEqual([suffix, true])
  expect(may(device, 'subscribe', 'fleet/dev_a/#')).toBe(true)
  for (const suffix of CLOUD_ONLY_SUFFIXES) {
    expect([suffix, may(device, 'publish', `fleet/dev_a/${suffix}`)]).toEqual([suffix, false])
    expect([suffix, may(device, 'publish', `fleet/dev_a/sub/child/${suffix}`)]).toEqual([suffix, false])
    expect([suffix, may(device, 'subscribe', `fleet/dev_a/${suffix}`)]).toEqual([suffix, true])
  }
})

test('a device may use no other topic', () => {
  const others = [
    '#',
    '+/#',
    'fleet/#',
    'fleet/+/command',
    'fleet/dev_b/#',
    'fleet/dev_ab/#',
    'fleet/DEV_A/#',
    '/fleet/dev_a/#',
  ]
  for (const topic of [
    ...others,
    '$SYS/#',
    'ingest/#',
    'ingest/3/fleet/dev_a/telemetry',
    'fleet/$group/x/cmd/request',
  ]) {
    expect([topic, may(device, 'subscribe', topic)]).toEqual([topic, false])
    expect([topic, may(device, 'publish', topic)]).toEqual([topic, false])
  }
})

test('a client id is not treated as a pattern', () => {
  for (const clientid of ['+', '#', 'a/b', 'fleet:api', '$group', 'dev.a', 'dev_a\n'])
    expect([
      clientid,
      may({ clientid, client_attrs: { device: clientid } }, 'subscribe', 'fleet/dev_a/#'),
    ]).toEqual([clientid, false])
})

test('a client without token or certificate may do nothing, whatever its name is', () => {
  for (const clientid of ['dev_a', '', 'undefined', 'fleet:ingest:0', 'fleet:api:node'])
    for (const username of [undefined, 'dev_a', 'fleet:ingest', 'fleet:api']) {
      const client = { clientid, username, client_attrs: {} }
      for (const topic of [
        'fleet/dev_a/telemetry',
        'fleet/undefined/status',
        'fleet//log',
        'fleet/#',
        'ingest/#',
      ])
        for (const action of ['publish', 'subscribe'] as const)
          expect([client, action, topic, may(client, action, topic)]).toEqual([client, action, topic, false])
    }
})

test('a service may do what its token allows, and nothing else', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const rights = async (user: string) => {
    const [head = '', claims = '', signature = ''] = (await serviceToken(user, key)).split('.')
    const isSigned = verify(
      'sha256',
      Buffer.from(`${head}.${claims}`),
      privateKey,
      Buffer.from(signature, 'base64url'),
    )
    const { sub, scope, acl: list } = JSON.parse(Buffer.from(claims, 'base64url').toString())
    expect([isSigned, sub, scope]).toEqual([true, user, 'service'])
    const client = { clientid: `${user}:0`, username: user, client_attrs: {} }
    return (action: 'publish' | 'subscribe', topic: string) =>
      judge([...toAclRules(list), ...acl], client, { action, topic }) === 'allow'
  }
  const [api, ingest] = [await rights('fleet:api'), await rights('fleet:ingest')]
  for (const topic of ['fleet/dev_a/command', 'fleet/$group/yard/cmd/request', 'fleet/$broadcast/x'])
    expect([topic, api('publish', topic)]).toEqual([topic, true])
  expect(api('subscribe', 'fleet/#')).toBe(true)
  expect(api('subscribe', 'ingest/#')).toBe(false)
  expect(api('publish', 'ingest/0/fleet/dev_a/telemetry')).toBe(false)
  expect(ingest('subscribe', 'ingest/7/#')).toBe(true)
  expect(ingest('publish', 'ingest/7/fleet/dev_a/telemetry')).toBe(false)
  expect(ingest('subscribe', 'fleet/#')).toBe(false)
  // The name of a service is not a valid device id.
  expect(['fleet:ingest', 'fleet:api'].map(parseDeviceId)).toEqual([undefined, undefined])
})
