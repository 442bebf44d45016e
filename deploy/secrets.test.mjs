import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeSecrets } from './secrets.mjs'

let folder
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'fleet-secrets-')), 'secrets')
})
afterEach(() => rmSync(join(folder, '..'), { recursive: true }))

const make = () => makeSecrets(folder, { isRoot: false })
const contents = () =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]))

test('only the owner can read secrets', () => {
  make()
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  for (const name of readdirSync(folder))
    expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600])
})

test('a second run keeps every secret, and makes a new one only for what was removed', () => {
  const { secrets } = make()
  const before = contents()
  make()
  expect(contents()).toEqual(before)
  const { nats_fleet: _, ...kept } = secrets
  writeFileSync(join(folder, 'secrets.json'), JSON.stringify(kept))
  const after = make().secrets
  expect(after).toEqual({ ...kept, nats_fleet: expect.not.stringMatching(`^${secrets.nats_fleet}$`) })
})

test('all secrets differ, also between two fleets, are long and begin with a letter', () => {
  const first = Object.values(make().secrets)
  rmSync(folder, { recursive: true })
  const both = [...first, ...Object.values(make().secrets)]
  expect(new Set(both).size).toBe(both.length)
  for (const secret of both) expect(secret).toMatch(/^(k[0-9a-f]{48}|-----BEGIN PRIVATE KEY-----[\s\S]+)$/)
})

test('ClickHouse and Redis get only hashes of the passwords they check', () => {
  const { secrets } = make()
  const { 'redis-users.acl': users } = contents()
  expect(users).not.toContain(secrets.redis_fleet)
  expect(users).toMatch(/^user default off/)
})

test('an environment file has one line per name, also for the private key', () => {
  make()
  for (const [name, text] of Object.entries(contents()).filter(([name]) => name.endsWith('.env')))
    for (const line of text.trimEnd().split('\n'))
      expect([name, line]).toEqual([name, expect.stringMatching(/^[A-Z][A-Z0-9_]*=\S.*$/)])
})

test('without root, the files whose owner must be changed are listed', () => {
  const { foreign } = make()
  expect(foreign.map(({ path, owner }) => [path.slice(folder.length + 1), owner])).toEqual([
    ['emqx-services.pem', 1000],
    ['emqx-api-keys.txt', 1000],
    ['redis-users.acl', 999],
  ])
})
