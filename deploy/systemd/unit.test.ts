import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readSettings } from '../../api/service/settings/settings.ts'

const ALONE = readUnit('fleet.service')
const NODE = readUnit('fleet@.service')

/** Of its section; a setting may come more than once. */
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
  test('runs as a user of its own, who can write to the service’s data and nowhere else', () => {
    expect([unit('User'), unit('ProtectSystem'), unit('ProtectHome')]).toEqual([
      ['fleet'],
      ['strict'],
      ['yes'],
    ])
    expect(unit('NoNewPrivileges')).toEqual(['yes'])
    expect(unit('CapabilityBoundingSet')).toEqual([''])
    expect(unit('ReadWritePaths')).toEqual([])
  })

  test('is stopped in order, with more time than it takes itself', () => {
    expect([unit('KillMode'), unit('KillSignal')]).toEqual([['mixed'], ['SIGTERM']])
    expect(Number(unit('TimeoutStopSec')[0])).toBeGreaterThan(10)
    expect(unit('Restart')).toEqual(['on-failure'])
  })

  test('lets JavaScript be compiled, and devices have sockets', () => {
    expect(unit('MemoryDenyWriteExecute')).toEqual([])
    expect(Number(unit('LimitNOFILE')[0])).toBeGreaterThanOrEqual(100_000)
  })
})

test('alone, its settings are known, and its data lies in the directory that the unit makes', () => {
  const dataDir = `/var/lib/${ALONE('StateDirectory')[0]}/data`
  expect(ALONE('StateDirectoryMode')).toEqual(['0700'])
  expect(settingsOf(ALONE)).toMatchObject({ kind: 'settings', settings: { profile: { dataDir } } })
})

test('a node of a cluster takes its role from its name, its servers from a file, and has no directory', () => {
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
  expect(read).toMatchObject({ kind: 'settings', settings: { profile: { kind: 'cluster', roles: ['api'] } } })
})
