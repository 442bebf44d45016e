// Checks the configuration without EMQX, which cannot run here: the files are parsed as HOCON and as Erlang terms, and an
// interpreter of their SQL runs the rules.
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { partitionOf } from '../../engine/domain/partition.ts'
import { type DeviceId, parseDeviceId } from '../../schemas/ids.ts'
import { CLOUD_ONLY_SUFFIXES, parseSuffix } from '../../schemas/topics.ts'
import { at, type Hocon, parseHocon } from '../testing/hocon.ts'
import { isMatch, parseRule, render } from '../testing/rule.ts'

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')
const conf = parseHocon(read('emqx.conf'))
const acl = readAcl(read('acl.conf'))
const list = (value: Hocon): readonly Hocon[] => (Array.isArray(value) ? value : expect.fail('no list'))
const fieldsOf = (value: Hocon): readonly (readonly [string, Hocon])[] =>
  typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : expect.fail('no object')
const ruleOf = (name: string) => parseRule(String(at(conf, `rule_engine.rules.${name}.sql`)))
const actionOf = (name: string) => {
  const [action, ...more] = list(at(conf, `rule_engine.rules.${name}.actions`))
  expect(more).toEqual([])
  return at(action ?? '', 'args')
}
const deviceIds = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/)

describe('the rules', () => {
  const uplink = ruleOf('fleet_uplink')
  const message = (topic: string) => ({
    topic,
    id: '0005F8C9E8A1F5A9F4470000A3DF0001',
    payload: '{"t":1}',
    publish_received_at: 1_790_000_000_000,
    flags: { retain: false, dup: false },
    qos: 1,
    peerhost: '10.0.0.1',
  })
  const EVENTS = ['fleet_connected', 'fleet_disconnected', 'fleet_subscribed', 'fleet_delivered']

  test('ten thousand devices land in the partitions that the service computes', () => {
    const ids = [
      ...fc.sample(deviceIds, { numRuns: 5_000, seed: 5 }),
      ...Array.from({ length: 5_000 }, (_, index) => `dev_${index.toString(36)}`),
    ]
    const rules = EVENTS.map(ruleOf)
    const wrong = ids.filter((id) => {
      const expected = partitionOf(id as DeviceId)
      const event = { clientid: id, topic: `fleet/${id}/command`, payload: '{}' }
      const computed = [uplink.run(message(`fleet/${id}/telemetry`)), ...rules.map((rule) => rule.run(event))]
      return computed.some((columns) => columns?.['p'] !== expected)
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
    const taken = (suffix: string) => uplink.from.some((filter) => isMatch(filter, `fleet/dev/${suffix}`))
    for (const suffix of own) {
      expect(parseSuffix(suffix).kind).not.toMatch(/other|cloud_only/)
      expect([suffix, taken(suffix), taken(`sub/child/${suffix}`)]).toEqual([suffix, true, true])
    }
    for (const suffix of [...CLOUD_ONLY_SUFFIXES, 'shadow/get/accepted', 'anything'])
      expect([suffix, taken(suffix), taken(`sub/child/${suffix}`)]).toEqual([suffix, false, false])
  })

  test('a message is republished with its broker id and receive time as text', () => {
    const selected = uplink.run(message('fleet/dev_abc/telemetry')) ?? {}
    expect(selected['up']).toEqual({
      id: '0005F8C9E8A1F5A9F4470000A3DF0001',
      ts: '1790000000000',
      retain: 'false',
      qos: '1',
      will: 'false',
    })
    const { peerhost: _, ...will } = message('fleet/dev_abc/status')
    expect(uplink.run(will)?.['up']).toMatchObject({ will: 'true' })
    const args = actionOf('fleet_uplink')
    expect(render(String(at(args, 'topic')), selected)).toBe('ingest/19/fleet/dev_abc/telemetry')
    expect(render(String(at(args, 'payload')), selected)).toBe('{"t":1}')
    expect(at(args, 'user_properties')).toBe('$' + '{up}')
  })

  test('events of devices are republished, and those of services are not', () => {
    for (const name of EVENTS.slice(0, 3)) {
      expect(ruleOf(name).run({ clientid: 'fleet:ingest:0' })).toBeUndefined()
      expect(ruleOf(name).run({ clientid: 'fleet-ingest-0' })).toBeDefined()
    }
    fc.assert(
      fc.property(fc.string(), (id) => {
        const isDevice = ruleOf('fleet_connected').run({ clientid: id }) !== undefined
        expect(isDevice).toBe(parseDeviceId(id) !== undefined)
      }),
    )
  })

  test('the acknowledgement of a command is republished, and of no other message', () => {
    const delivered = ruleOf('fleet_delivered')
    const columns = {
      clientid: 'gate',
      payload: '{"request_id":"cmd_1","command":"stop"}',
      timestamp: 5,
      event: 'message.acked',
    }
    const run = (topic: string) => delivered.run({ ...columns, topic })
    expect(run('fleet/gate/command')).toMatchObject({ request_id: 'cmd_1', clientid: 'gate', timestamp: 5 })
    expect(run('fleet/gate/sub/child/command')).toMatchObject({ request_id: 'cmd_1' })
    expect(run('ingest/3/fleet/gate/telemetry')).toBeUndefined()
    expect(run('fleet/gate/shadow/desired')).toBeUndefined()
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

describe('who may do what', () => {
  const device = { username: 'dev_a', clientid: 'dev_a' }
  const api = { username: 'fleet:api', clientid: 'fleet:api:0' }
  const ingest = { username: 'fleet:ingest', clientid: 'fleet:ingest:0' }

  test('a device may use its namespace, except to publish on the cloud’s topics', () => {
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
      expect([clientid, may({ username: 'x', clientid }, 'subscribe', 'fleet/dev_a/#')]).toEqual([
        clientid,
        false,
      ])
  })

  test('the API may publish to devices, and the ingress may only read what the rules republish', () => {
    for (const topic of ['fleet/dev_a/command', 'fleet/$group/yard/cmd/request', 'fleet/$broadcast/x'])
      expect([topic, may(api, 'publish', topic)]).toEqual([topic, true])
    expect(may(api, 'subscribe', 'fleet/#')).toBe(true)
    expect(may(api, 'publish', 'ingest/0/fleet/dev_a/telemetry')).toBe(false)
    expect(may(ingest, 'subscribe', 'ingest/7/#')).toBe(true)
    expect(may(ingest, 'publish', 'ingest/7/fleet/dev_a/telemetry')).toBe(false)
    expect(may(ingest, 'subscribe', 'fleet/#')).toBe(false)
  })

  test('no device can use the name of a service', () => {
    const accounts = acl.flatMap(({ who }) =>
      who.key === 'username' && who.pattern === undefined ? [who.value] : [],
    )
    expect([...new Set(accounts)]).toEqual(['fleet:ingest', 'fleet:api'])
    expect(accounts.map(parseDeviceId)).toEqual([undefined, undefined, undefined])
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
    const [accounts, tokens, ...more] = list(at(conf, 'authentication'))
    expect(more).toEqual([])
    expect(at(accounts ?? '', 'backend')).toBe('built_in_database')
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

  test('the common name of a certificate is the client id, so that neither can be borrowed', () => {
    expect(at(conf, 'zones.device_tls.mqtt')).toEqual({
      peer_cert_as_clientid: 'cn',
      peer_cert_as_username: 'cn',
    })
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

// --- acl.conf: a sequence of Erlang terms

interface AclRule {
  readonly permission: 'allow' | 'deny'
  readonly who: {
    readonly key: 'all' | 'username' | 'clientid'
    readonly value: string
    readonly pattern?: RegExp
  }
  readonly action: 'all' | 'publish' | 'subscribe'
  /** Undefined matches any client. */
  readonly topics: readonly string[] | undefined
}

function readAcl(source: string): readonly AclRule[] {
  const terms = source
    .replace(/%%.*$/gm, '')
    .split(/\.\s*\n/)
    .map((term) => term.trim())
    .filter((term) => term !== '')
  const RULE =
    /^\{(allow|deny), (all|\{(username|clientid), (?:"([^"]+)"|\{re, "([^"]+)"\})\})(?:, (all|publish|subscribe), (all|\[[^\]]+\]))?\}$/
  return terms.map((term) => {
    const [, permission, all, key, value, pattern, action = 'all', topics = 'all'] =
      RULE.exec(term) ?? expect.fail(term)
    const who =
      all === 'all'
        ? { key: 'all', value: '' }
        : { key, value: value ?? '', ...(pattern && { pattern: new RegExp(pattern) }) }
    const filters = topics === 'all' ? undefined : JSON.parse(topics)
    // The pattern above allows nothing else.
    return { permission, who, action, topics: filters } as AclRule
  })
}

/** A subscription is compared as text, like a topic, so only a rule with a filter at least as wide allows it. */
function may(
  client: { username: string; clientid: string },
  action: 'publish' | 'subscribe',
  topic: string,
): boolean {
  const found = acl.find(({ who, action: on, topics }) => {
    const name = who.key === 'all' ? '' : client[who.key]
    const isMeant =
      who.key === 'all' || (who.pattern === undefined ? name === who.value : who.pattern.test(name))
    const filters = topics?.map((filter) => filter.replace('$' + '{clientid}', client.clientid))
    return (
      isMeant &&
      (on === 'all' || on === action) &&
      (filters?.some((filter) => isMatch(filter, topic)) ?? true)
    )
  })
  return found?.permission === 'allow'
}
