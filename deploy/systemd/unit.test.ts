import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readSettings } from '../../api/settings.ts'

const unit = readUnit(readFileSync(new URL('fleet.service', import.meta.url), 'utf8'))
const service = unit.get('Service') ?? new Map<string, string>()

function readUnit(text: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const sections = new Map<string, Map<string, string>>()
  let section = new Map<string, string>()
  for (const line of text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))) {
    const [, name] = /^\[(\w+)\]$/.exec(line) ?? []
    const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (name !== undefined) {
      section = new Map()
      sections.set(name, section)
    } else if (key === undefined || value === undefined || section.has(key))
      throw new Error(`not understood: ${line}`)
    else section.set(key, value)
  }
  return sections
}

test('the service runs as a user of its own, who can write to its data and nowhere else', () => {
  expect([service.get('User'), service.get('ProtectSystem'), service.get('ProtectHome')]).toEqual([
    'fleet',
    'strict',
    'yes',
  ])
  expect(service.get('NoNewPrivileges')).toBe('yes')
  expect(service.get('CapabilityBoundingSet')).toBe('')
  expect(service.has('ReadWritePaths')).toBe(false)
  expect(service.get('StateDirectoryMode')).toBe('0700')
})

test('its settings are known, and its data lies in the directory that the unit makes', () => {
  const pairs = (service.get('Environment') ?? '').split(' ').map((pair) => pair.split('='))
  const read = readSettings(Object.fromEntries(pairs), { cores: 2 })
  const dataDir = `/var/lib/${service.get('StateDirectory')}/data`
  expect(read).toMatchObject({ kind: 'settings', settings: { profile: { dataDir } } })
})

test('it is stopped in order, with more time than it takes itself', () => {
  expect([service.get('KillMode'), service.get('KillSignal')]).toEqual(['mixed', 'SIGTERM'])
  expect(Number(service.get('TimeoutStopSec'))).toBeGreaterThan(10)
  expect(service.get('Restart')).toBe('on-failure')
})

test('JavaScript may be compiled, and devices may have sockets', () => {
  expect(service.has('MemoryDenyWriteExecute')).toBe(false)
  expect(Number(service.get('LimitNOFILE'))).toBeGreaterThanOrEqual(100_000)
})
