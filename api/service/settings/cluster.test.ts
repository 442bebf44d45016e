import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { type BannerFacts, bannerText, readyLine } from '../banner.ts'
import { readSettings } from './settings.ts'

const CLUSTER = {
  FLEET_PROFILE: 'cluster',
  FLEET_JWT_SECRET: 'x'.repeat(32),
  FLEET_NATS_URL: 'nats://fleet:hunter%202@nats-1:4222, nats://nats-2:4222',
  FLEET_REDIS_URL: 'redis://fleet:hunter2@redis:6379',
  FLEET_CLICKHOUSE_URL: 'http://fleet:hunter2@clickhouse:8123',
  FLEET_MQTT_URL: 'mqtt://emqx:1884',
  FLEET_MQTT_INGEST_PASSWORD: 'hunter2',
  FLEET_MQTT_API_PASSWORD: 'hunter2',
  FLEET_EMQX_API_URL: 'http://emqx:18083',
  FLEET_EMQX_API_KEY: 'fleet',
  FLEET_EMQX_API_SECRET: 'hunter2',
}
const read = (environment: Record<string, string>) => readSettings(environment, { cores: 4 })
const settingsOf = (more: Record<string, string> = {}) => {
  const result = read({ ...CLUSTER, ...more })
  return result.kind === 'settings' ? result.settings : expect.fail(result.line)
}
const lineOf = (environment: Record<string, string>) => {
  const result = read(environment)
  return result.kind === 'wrong' ? result.line : expect.fail('accepted')
}

describe('cluster settings', () => {
  test('a cluster listens on all addresses, limits registration and takes every role by default', () => {
    expect(settingsOf()).toMatchObject({ host: '0.0.0.0', registration: 'bootstrap' })
    expect(settingsOf().profile).toEqual({
      kind: 'cluster',
      roles: ['ingress', 'engine', 'api'],
      nodeName: undefined,
      nats: {
        servers: ['nats-1:4222', 'nats-2:4222'],
        isTls: false,
        user: 'fleet',
        password: 'hunter 2',
        monitors: [],
        replicas: 1,
      },
      redisUrl: CLUSTER.FLEET_REDIS_URL,
      clickhouse: { url: CLUSTER.FLEET_CLICKHOUSE_URL, cluster: undefined },
      mqtt: {
        mode: 'emqx',
        url: 'mqtt://emqx:1884',
        publicUrl: 'mqtt://emqx:1884',
        ingestPassword: 'hunter2',
        apiPassword: 'hunter2',
        emqxApi: { url: 'http://emqx:18083', key: 'fleet', secret: 'hunter2' },
      },
    })
  })

  test('cluster settings are read and normalised', () => {
    const more = {
      FLEET_ROLES: 'api, ingress,api',
      FLEET_NODE_NAME: 'rack-1.node-2',
      FLEET_NATS_URL: 'tls://nats.example.com:4222',
      FLEET_NATS_MONITOR_URL: 'http://a:8222,http://b:8222',
      FLEET_NATS_REPLICAS: '3',
      FLEET_CLICKHOUSE_CLUSTER: 'fleet',
      FLEET_MQTT_PUBLIC_URL: 'mqtts://mqtt.example.com:8883',
    }
    expect(settingsOf(more).profile).toMatchObject({
      roles: ['ingress', 'api'],
      nodeName: 'rack-1.node-2',
      nats: {
        servers: ['nats.example.com:4222'],
        isTls: true,
        user: undefined,
        monitors: ['http://a:8222', 'http://b:8222'],
        replicas: 3,
      },
      clickhouse: { cluster: 'fleet' },
      mqtt: { publicUrl: 'mqtts://mqtt.example.com:8883' },
    })
  })

  test('all missing settings are reported at once, with examples', () => {
    const line = lineOf({ FLEET_PROFILE: 'cluster', FLEET_REDIS_URL: CLUSTER.FLEET_REDIS_URL })
    expect(line).toMatch(
      /^FLEET_NATS_URL is required .* FLEET_NATS_URL=nats:\/\/fleet:password@nats:4222; also/,
    )
    for (const name of ['FLEET_CLICKHOUSE_URL', 'FLEET_MQTT_URL', 'FLEET_EMQX_API_SECRET'])
      expect(line).toContain(`${name}=`)
    expect(line).not.toContain('REDIS')
    const { FLEET_JWT_SECRET: _, ...keyless } = CLUSTER
    expect(lineOf(keyless)).toMatch(/^FLEET_JWT_SECRET or FLEET_JWT_PRIVATE_KEY is required/)
  })

  test('settings are required depending on the roles and the kind of broker', () => {
    const { FLEET_MQTT_INGEST_PASSWORD: _, ...withoutIngest } = CLUSTER
    expect(lineOf(withoutIngest)).toContain('FLEET_MQTT_INGEST_PASSWORD')
    expect(read({ ...withoutIngest, FLEET_ROLES: 'engine,api' })).toMatchObject({ kind: 'settings' })
    const names = Object.entries(CLUSTER).filter(([name]) => !/EMQX|PASSWORD$/.test(name))
    const bare = Object.fromEntries(names)
    expect(read({ ...bare, FLEET_ROLES: 'api' })).toMatchObject({ kind: 'settings' })
    expect(read({ ...bare, FLEET_MQTT_MODE: 'plain' })).toMatchObject({ kind: 'settings' })
    expect(lineOf({ ...bare, FLEET_ROLES: 'engine' })).toContain('FLEET_EMQX_API_KEY')
  })

  test('settings of the other profile are refused', () => {
    expect(lineOf({ FLEET_REDIS_URL: CLUSTER.FLEET_REDIS_URL })).toBe(
      'FLEET_REDIS_URL is a setting of the cluster profile; set FLEET_PROFILE=cluster as well',
    )
    for (const [name, value] of [
      ['FLEET_DATA_DIR', 'data'],
      ['FLEET_MQTT_PORT', '1883'],
      ['FLEET_TLS_CLIENT_CA', 'ca.crt'],
    ] as const)
      expect(lineOf({ ...CLUSTER, [name]: value })).toBe(
        `${name} is a setting of the embedded profile; remove it, or remove FLEET_PROFILE=cluster`,
      )
  })

  test.each([
    ['FLEET_ROLES', 'api,ingres', 'has "ingres"; expected some of ingress, engine, api'],
    ['FLEET_NODE_NAME', 'a b', 'expected up to 64 letters'],
    ['FLEET_NATS_URL', 'nats:4222', 'expected an address such as nats://'],
    ['FLEET_NATS_URL', 'nats://a:1@h:4222,nats://b:2@h:4222', 'has different credentials'],
    ['FLEET_NATS_URL', 'nats://a:50%@h:4222', 'expected an address such as nats://'],
    ['FLEET_NATS_REPLICAS', '2', 'expected one of 1, 3, 5'],
    ['FLEET_REDIS_URL', 'http://redis:6379', 'expected an address such as redis://'],
    ['FLEET_CLICKHOUSE_URL', 'http://a:8123,http://b:8123', 'has several addresses; expected a single one'],
    ['FLEET_CLICKHOUSE_CLUSTER', "a'b", 'expected the name of a cluster'],
    ['FLEET_MQTT_URL', 'tcp://emqx:1884', 'expected an address such as mqtt://'],
    ['FLEET_MQTT_PUBLIC_URL', 'http://emqx', 'expected an address such as mqtts://'],
    ['FLEET_MQTT_MODE', 'mosquitto', 'expected one of emqx, plain'],
    ['FLEET_EMQX_API_URL', 'emqx:18083', 'expected an address such as http://'],
  ])('%s=%s ends the start with one line', (name, value, text) => {
    const line = lineOf({ ...CLUSTER, [name]: value })
    expect(line.startsWith(`${name} `)).toBe(true)
    expect(line).toContain(text)
  })

  test('passwords in addresses appear neither in errors nor in the banner', () => {
    for (const name of ['FLEET_NATS_URL', 'FLEET_REDIS_URL', 'FLEET_CLICKHOUSE_URL'])
      expect(lineOf({ ...CLUSTER, [name]: 'x://fleet:hunter2@there' })).not.toContain('hunter')
    const facts: BannerFacts = {
      version: '1',
      profile: settingsOf({ FLEET_NODE_NAME: 'a', FLEET_ROLES: 'engine' }).profile,
      httpUrl: 'http://localhost:8000',
      mqttUrl: 'mqtt://emqx:1884',
      durability: 'power',
      registration: 'locked',
      startedInMs: 1,
      admin: undefined,
      dashboard: undefined,
      simulated: 0,
    }
    expect(JSON.parse(readyLine(facts, 0))).toMatchObject({
      profile: 'cluster',
      node: 'a',
      roles: ['engine'],
      servers: { nats: 'nats-1:4222,nats-2:4222', redis: 'redis://redis:6379' },
    })
    expect(bannerText(facts)).toMatch(/Roles +engine of a\n.*clickhouse http:\/\/clickhouse:8123/)
    expect(bannerText(facts)).not.toContain('/ws')
    expect(bannerText(facts) + readyLine(facts, 0)).not.toContain('hunter')
  })
})

describe('a secret in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-settings-'))
  const path = join(folder, 'secret')
  afterAll(() => rmSync(folder, { recursive: true }))

  test('a secret from a file is used without its trailing newline', () => {
    writeFileSync(path, `${'s'.repeat(32)}\n`)
    expect(read({ FLEET_JWT_SECRET_FILE: path })).toMatchObject({
      settings: { signing: { kind: 'secret', secret: 's'.repeat(32) } },
    })
    expect(lineOf({ FLEET_JWT_SECRET_FILE: path, FLEET_JWT_SECRET: 'x'.repeat(32) })).toBe(
      'FLEET_JWT_SECRET and FLEET_JWT_SECRET_FILE are both set; set only one of them',
    )
  })

  test('an empty secret file ends the start, instead of being an empty password or a setting that was left out', () => {
    writeFileSync(path, '\n')
    for (const name of ['FLEET_MQTT_INGEST_PASSWORD', 'FLEET_SMTP_URL'])
      expect(lineOf({ [name]: '', [`${name}_FILE`]: path })).toBe(`${name}_FILE is ${path}, which is empty`)
    expect(read({ FLEET_JWT_PREVIOUS_KEYS_FILE: path })).toMatchObject({ settings: { previousKeys: [] } })
  })

  test('a missing secret file ends the start, and only secrets can come from files', () => {
    expect(lineOf({ FLEET_JWT_SECRET_FILE: '/nowhere' })).toBe(
      'FLEET_JWT_SECRET_FILE is /nowhere, which cannot be read',
    )
    expect(lineOf({ FLEET_HOST_FILE: path })).toMatch(/^FLEET_HOST_FILE is not a known setting/)
  })
})
