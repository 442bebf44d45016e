import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readSettings } from '../../api/service/settings/settings.ts'

const ALONE = readUnit('fleet.service')
const NODE = readUnit('fleet@.service')

/** Reads a unit. The returned function lists all values of a setting, which may occur more than once. */
function readUnit(name: string): (key: string) => readonly string[] {
  const lines = readFileSync(new URL(name, import.meta.url), 'utf8').split('\n')
  const values = new Map<string, string[]>()
  for (const line of lines.filter((line) => line !== '' && !/^(#|\[\w+\]$)/.test(line))) {
    const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (key === undefined || value === undefined) throw new Error(`not understood: ${line}`)
    values.set(key, [...(values.get(key) ?? []), value])
  }
  return (key) => values.get(key) ?? []
}

function settingsOf(unit: typeof ALONE, more: Readonly<Record<string, string>> = {}) {
  const pairs = unit('Environment').flatMap((line) => line.split(' ').map((pair) => pair.split('=')))
  return readSettings({ ...Object.fromEntries(pairs), ...more }, { cores: 2 })
}

describe.each([
  ['fleet.service', ALONE],
  ['fleet@.service', NODE],
])('%s', (_, unit) => {
  test('the unit runs as its own user, who can write only to the data directory', () => {
    expect([unit('User'), unit('ProtectSystem'), unit('ProtectHome')]).toEqual([
      ['fleet'],
      ['strict'],
      ['yes'],
    ])
    expect(unit('NoNewPrivileges')).toEqual(['yes'])
    expect(unit('CapabilityBoundingSet')).toEqual([''])
    expect(unit('ReadWritePaths')).toEqual([])
  })

  test('the unit is given more time to stop than the service needs', () => {
    expect([unit('KillMode'), unit('KillSignal')]).toEqual([['mixed'], ['SIGTERM']])
    expect(Number(unit('TimeoutStopSec')[0])).toBeGreaterThan(10)
    expect(unit('Restart')).toEqual(['on-failure'])
  })

  test('the unit allows compiled JavaScript and many sockets', () => {
    expect(unit('MemoryDenyWriteExecute')).toEqual([])
    expect(Number(unit('LimitNOFILE')[0])).toBeGreaterThanOrEqual(100_000)
  })
})

test('fleet.service has known settings, lets no stranger register, and keeps data in the directory it creates', () => {
  const dataDir = `/var/lib/${ALONE('StateDirectory')[0]}/data`
  expect(ALONE('StateDirectoryMode')).toEqual(['0700'])
  expect(settingsOf(ALONE)).toMatchObject({
    kind: 'settings',
    settings: { profile: { dataDir }, registration: 'bootstrap' },
  })
})

test('fleet@.service takes its role from its name and its servers from a file, and has no data directory', () => {
  expect(NODE('StateDirectory')).toEqual([])
  expect(NODE('EnvironmentFile')).toEqual(['/etc/fleet/cluster.env', '-/etc/fleet/%i.env'])
  const read = settingsOf(NODE, {
    FLEET_ROLES: 'api',
    FLEET_NODE_NAME: 'host-api',
    FLEET_JWT_SECRET: 'x'.repeat(32),
    FLEET_NATS_URL: 'nats://nats:4222',
    FLEET_REDIS_URL: 'redis://redis:6379',
    FLEET_CLICKHOUSE_URL: 'http://clickhouse:8123',
    FLEET_MQTT_URL: 'mqtt://emqx:1884',
  })
  expect(read).toMatchObject({
    kind: 'settings',
    settings: { profile: { kind: 'cluster', roles: ['api'] }, registration: 'bootstrap' },
  })
})
