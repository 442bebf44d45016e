// Checks the configuration without a running EMQX. The files are parsed as HOCON and as Erlang terms, and an interpreter of
// their SQL runs the rules.
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { partitionOf } from '../../engine/domain/partition.ts'
import { type DeviceId, parseDeviceId } from '../../schemas/ids.ts'
import { parseSuffix } from '../../schemas/topics.ts'
import { at, type Hocon, parseHocon } from '../testing/hocon.ts'
import { type Columns, isMatch, parseRule, render } from '../testing/rule.ts'

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')
const conf = parseHocon(read('emqx.conf'))
const list = (value: Hocon): readonly Hocon[] => (Array.isArray(value) ? value : expect.fail('no list'))
const fieldsOf = (value: Hocon): readonly (readonly [string, Hocon])[] =>
  typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : expect.fail('no object')
const ruleOf = (name: string) => parseRule(String(at(conf, `rule_engine.rules.${name}.sql`)))
const actionOf = (name: string) => {
  const [action, ...more] = list(at(conf, `rule_engine.rules.${name}.actions`))
  expect(more).toEqual([])
  return at(action ?? '', 'args')
}
/** Prepares a rule. The returned function runs it, and returns the only message that it publishes, if any. */
const runOf = (name: string) => {
  const { run } = ruleOf(name)
  return (columns: Columns) => {
    const [selected, ...more] = run(columns)
    expect(more).toEqual([])
    return selected
  }
}
const deviceIds = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/)

describe('the rules', () => {
  const uplink = ruleOf('fleet_uplink')
  const message = (topic: string) => ({
    topic,
    clientid: topic.split('/')[1],
    id: '0005F8C9E8A1F5A9F4470000A3DF0001',
    payload: '{"t":1}',
    publish_received_at: 1_790_000_000_000,
    flags: { retain: false, dup: false },
    qos: 1,
    peerhost: '10.0.0.1',
  })
  const EVENTS = ['fleet_connected', 'fleet_disconnected', 'fleet_subscribed', 'fleet_delivered']

  test('ten thousand devices get the partitions that the service computes', () => {
    const ids = [
      ...fc.sample(deviceIds, { numRuns: 5_000, seed: 5 }),
      ...Array.from({ length: 5_000 }, (_, index) => `dev_${index.toString(36)}`),
    ]
    const rules = EVENTS.map(ruleOf)
    const wrong = ids.filter((id) => {
      const expected = partitionOf(id as DeviceId)
      const topic = `fleet/${id}/command`
      const event = { clientid: id, client_attrs: { device: id }, topic, payload: '{}' }
      const computed = [uplink.run(message(`fleet/${id}/telemetry`)), ...rules.map((rule) => rule.run(event))]
      return computed.some(([columns]) => columns?.['p'] !== expected)
    })
    expect(wrong).toEqual([])
    expect(new Set(ids.map((id) => partitionOf(id as DeviceId))).size).toBe(64)
  })

  test('every topic of a device is republished, and none of the cloud’s', () => {
    const own = [
      'telemetry',
      'telemetry/a/b',
      'status',
      'log',
      'shadow/reported',
      'shadow/get',
      'command/ack',
      'ota/status',
    ]
    const taken = (suffix: string) => {
      const topic = `fleet/dev/${suffix}`
      return uplink.from.some((filter) => isMatch(filter, topic)) && uplink.run(message(topic)).length === 1
    }
    for (const suffix of own) {
      expect(parseSuffix(suffix).kind).not.toMatch(/other|cloud_only/)
      expect([suffix, taken(suffix), taken(`sub/child/${suffix}`)]).toEqual([suffix, true, true])
    }
    // Unknown topics are republished as well, so that the device can be told.
    for (const suffix of ['token/get', 'telemtry', 'a/b/c'])
      expect([suffix, taken(suffix)]).toEqual([suffix, true])
    for (const suffix of ['', '$connected', '$delivered', '$a'])
      expect([suffix, taken(suffix)]).toEqual([suffix, false])
    expect(uplink.run(message('fleet/dev'))).toEqual([])
    const cloud = { ...message('fleet/dev/command'), clientid: 'fleet:api:node-1' }
    expect(uplink.run(cloud)).toEqual([])
  })

  test('a denial is republished if it is for a device, and nothing that is allowed', () => {
    const run = runOf('fleet_refused')
    const event = { clientid: 'dev_a', client_attrs: { device: 'dev_a' }, topic: 'fleet/dev_b/status' }
    expect(run({ ...event, action: 'publish', result: 'deny', timestamp: 5 })).toMatchObject({
      ...{ clientid: 'dev_a', topic: 'fleet/dev_b/status', action: 'publish', timestamp: 5 },
      p: partitionOf('dev_a' as DeviceId),
    })
    expect(run({ ...event, action: 'publish', result: 'allow' })).toBeUndefined()
    expect(run({ ...event, client_attrs: {}, action: 'publish', result: 'deny' })).toBeUndefined()
  })

  test('a refused connect is republished if its client id is that of a device, and no other CONNACK', () => {
    const run = runOf('fleet_rejected')
    const event = {
      clientid: 'dev_a',
      peername: '10.0.0.1:5000',
      reason_code: 'not_authorized',
      timestamp: 5,
    }
    expect(run(event)).toMatchObject({ ...event, p: partitionOf('dev_a' as DeviceId) })
    expect(run({ ...event, reason_code: 'success' })).toBeUndefined()
    for (const clientid of ['fleet:api:0', '', 'refused']) expect(run({ ...event, clientid })).toBeUndefined()
  })

  test('a message is republished with its broker id and receive time as text', () => {
    const selected = runOf('fleet_uplink')(message('fleet/dev_abc/telemetry')) ?? {}
    expect(selected['up']).toEqual({
      id: '0005F8C9E8A1F5A9F4470000A3DF0001',
      ts: '1790000000000',
      retain: 'false',
      qos: '1',
      will: 'false',
    })
    const { peerhost: _, ...will } = message('fleet/dev_abc/status')
    expect(runOf('fleet_uplink')(will)?.['up']).toMatchObject({ will: 'true' })
    const args = actionOf('fleet_uplink')
    expect(render(String(at(args, 'topic')), selected)).toBe('ingest/19/fleet/dev_abc/telemetry')
    expect(render(String(at(args, 'payload')), selected)).toBe('{"t":1}')
    expect(at(args, 'user_properties')).toBe('$' + '{up}')
  })

  test('messages on a device’s topics are republished only if that device or its gateway sent them', () => {
    const takenFrom = (clientid: string, topic: string) =>
      uplink.run({ ...message(topic), clientid }).length === 1
    for (const topic of ['fleet/dev_a/telemetry', 'fleet/dev_a/sub/child/status'])
      for (const clientid of ['dev_a', 'dev_b', 'child', 'fleet:api:node-1'])
        expect([topic, clientid, takenFrom(clientid, topic)]).toEqual([topic, clientid, clientid === 'dev_a'])
  })

  test('events of devices are republished, and those of services are not', () => {
    for (const name of EVENTS.slice(0, 3)) {
      const verified = (clientid: string) => ({ clientid, client_attrs: { device: clientid } })
      expect(runOf(name)({ clientid: 'fleet:ingest:0', client_attrs: {} })).toBeUndefined()
      expect(runOf(name)(verified('fleet-ingest-0'))).toBeDefined()
    }
    fc.assert(
      fc.property(fc.string(), (id) => {
        const isDevice = runOf('fleet_connected')({ clientid: id }) !== undefined
        expect(isDevice).toBe(parseDeviceId(id) !== undefined)
      }),
    )
  })

  test('a client that was not verified is reported as such, and nothing else of it is republished', () => {
    for (const client_attrs of [{}, { device: 'dev_b' }]) {
      const event = { clientid: 'dev_a', client_attrs, topic: 'fleet/dev_a/#', qos: 1 }
      expect(runOf('fleet_connected')(event)).toMatchObject({ verified: 0 })
      for (const name of ['fleet_disconnected', 'fleet_subscribed'])
        expect(runOf(name)(event)).toBeUndefined()
    }
    expect(runOf('fleet_connected')({ clientid: 'a', client_attrs: { device: 'a' } })).toMatchObject({
      verified: 1,
    })
  })

  test('a connect with a token reports when it was issued and expires, one with a certificate reports neither', () => {
    const told = (more: object) =>
      runOf('fleet_connected')({ clientid: 'a', client_attrs: { device: 'a', ...more } })
    const token = { issued: '1772366400000', lasts: '60' }
    expect(told(token)).toMatchObject({ verified: 1, ...token })
    expect(told({})).not.toMatchObject({ issued: expect.stringMatching(/\d/) })
  })

  test('the acknowledgement of a command is republished, and of no other message', () => {
    const columns = {
      clientid: 'gate',
      peername: '10.0.0.1:4711',
      payload: '{"request_id":"cmd_1","command":"stop"}',
      timestamp: 5,
      event: 'message.acked',
    }
    const run = (topic: string) => runOf('fleet_delivered')({ ...columns, topic })
    expect(run('fleet/gate/command')).toMatchObject({ request_id: 'cmd_1', clientid: 'gate', timestamp: 5 })
    expect(run('fleet/gate/sub/child/command')).toMatchObject({
      request_id: 'cmd_1',
      peername: '10.0.0.1:4711',
    })
    expect(run('fleet/gate/ota')).toMatchObject({ request_id: 'cmd_1' })
    expect(run('fleet/gate/sub/child/ota')).toMatchObject({ request_id: 'cmd_1' })
    expect(run('fleet/gate/ota/status')).toBeUndefined()
    expect(run('ingest/3/fleet/gate/telemetry')).toBeUndefined()
    expect(run('fleet/gate/shadow/desired')).toBeUndefined()
  })

  test('a payload that is not JSON makes a rule fail only if it is that of a command', () => {
    const delivered = ruleOf('fleet_delivered')
    const run = (topic: string) => () =>
      delivered.run({ clientid: 'fleet:ingest:0', topic, payload: 'no JSON' })
    expect(run('ingest/3/fleet/gate/telemetry')()).toEqual([])
    expect(run('fleet/gate/command')).toThrow()
  })

  test('no rule matches its own output or retains anything', () => {
    for (const [name] of fieldsOf(at(conf, 'rule_engine.rules'))) {
      const args = actionOf(name)
      expect([at(args, 'direct_dispatch'), at(args, 'retain'), at(args, 'qos')]).toEqual([true, false, 1])
      const from = ruleOf(name).from
      expect(
        from.filter((filter) => filter.startsWith('#') || isMatch(filter, String(at(args, 'topic')))),
      ).toEqual([])
    }
  })
})

describe('EMQX', () => {
  test('every listener asks for a password or token, unless it requires a certificate', () => {
    const listeners = fieldsOf(at(conf, 'listeners')).flatMap(([kind, named]) =>
      fieldsOf(named).map(([name, listener]) => ({ name: `${kind}.${name}`, listener })),
    )
    const open = listeners.filter(({ listener }) =>
      fieldsOf(listener).some(([key]) => key === 'enable_authn'),
    )
    expect(open.map(({ name }) => name)).toEqual(['ssl.certificates'])
    const strict = at(conf, 'listeners.ssl.certificates.ssl_options')
    expect([at(strict, 'verify'), at(strict, 'fail_if_no_peer_cert')]).toEqual(['verify_peer', true])
    const [tokens, ...more] = list(at(conf, 'authentication'))
    expect(more).toEqual([])
    expect(at(tokens ?? '', 'mechanism')).toBe('jwt')
    expect(at(tokens ?? '', 'verify_claims')).toEqual({ sub: '$' + '{clientid}', scope: 'device' })
    expect(at(tokens ?? '', 'disconnect_after_expire')).toBe(true)
    expect(at(conf, 'authorization.no_match')).toBe('deny')
  })

  test('plain text is open to the inner network only, and devices use TLS 1.3', () => {
    for (const [kind, named] of fieldsOf(at(conf, 'listeners'))) {
      for (const [, listener] of fieldsOf(named)) expect(at(listener, 'bind')).toMatch(/^0\.0\.0\.0:\d+$/)
      if (kind === 'ssl')
        for (const [, listener] of fieldsOf(named)) {
          expect(at(listener, 'ssl_options.versions')).toEqual(['tlsv1.3'])
          expect(at(listener, 'ssl_options.enable_crl_check')).toBe(true)
          expect(at(listener, 'zone')).toBe('device_tls')
        }
    }
    expect(at(conf, 'listeners.tcp.default.enable')).toBe(false)
    expect(at(conf, 'listeners.ws.default.enable')).toBe(false)
    expect(list(at(conf, 'listeners.tcp.internal.access_rules')).at(-1)).toBe('deny all')
  })

  test('services log in at the inner listener alone, with a token of their own key', () => {
    const own = list(at(conf, 'listeners.tcp.internal.authentication'))
    expect(own).toMatchObject([
      {
        mechanism: 'jwt',
        use_jwks: false,
        public_key: '/run/fleet/emqx-services.pem',
        verify_claims: { sub: '$' + '{username}', scope: 'service' },
      },
    ])
    expect(read('emqx.conf')).not.toContain('built_in_database\n    enable')
  })

  test('the common name of a certificate is the client id and the verified device', () => {
    expect(at(conf, 'zones.device_tls.mqtt')).toMatchObject({
      peer_cert_as_clientid: 'cn',
      peer_cert_as_username: 'cn',
      client_attrs_init: [{ expression: "coalesce(cn, '')", set_as_attr: 'device' }],
    })
  })

  test('no client from outside can use the client id of a service', () => {
    const override = String(at(conf, 'zones.device_tls.mqtt.clientid_override'))
    const [, pattern = ''] =
      /^iif\(regex_match\(clientid, '([^']+)'\), clientid, 'refused'\)$/.exec(override) ?? []
    for (const id of ['dev_a', 'A-1']) expect(new RegExp(pattern).test(id)).toBe(true)
    for (const id of ['fleet:ingest:0', 'fleet:api:x', 'a/b', '+', ''])
      expect(new RegExp(pattern).test(id)).toBe(false)
    for (const name of ['ssl.default', 'ssl.certificates', 'wss.default'])
      expect(at(conf, `listeners.${name}.zone`)).toBe('device_tls')
  })

  test('a session of the ingress is not ended for a long queue, and not banned for frequent connects', () => {
    expect(at(conf, 'zones.internal.force_shutdown.enable')).toBe(false)
    expect(at(conf, 'zones.internal.flapping_detect.enable')).toBe(false)
    // Nor is a device by whoever connects with its id.
    expect(at(conf, 'flapping_detect.enable')).toBe(false)
    expect(at(conf, 'zones.internal.mqtt.retry_interval')).toBe('infinity')
    expect(at(conf, 'mqtt.retry_interval')).toBe('30s')
  })

  test('a new key is used within seconds, a revocation within minutes, and nothing is reported to EMQX’s makers', () => {
    const [tokens] = list(at(conf, 'authentication'))
    expect(at(tokens ?? '', 'refresh_interval')).toBe(10)
    expect(at(conf, 'crl_cache.refresh_interval')).toBe('5m')
    expect(at(conf, 'telemetry.enable')).toBe(false)
  })

  test('retained messages survive a restart and are stored as fast as a fleet sends them', () => {
    expect(at(conf, 'retainer.backend.storage_type')).toBe('disc')
    expect(at(conf, 'retainer.max_publish_rate')).toBe('20000/s')
    expect(at(conf, 'mqtt.retry_interval')).toBe('30s')
  })

  test('the files hold no secret', () => {
    expect(read('emqx.conf')).not.toMatch(/^\s*(password|secret|cookie|default_password)\s*=/m)
  })
})
