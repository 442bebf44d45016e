import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { UserId } from '../../schemas/ids.ts'
import { type BannerFacts, bannerText, readyLine } from './banner.ts'
import { handOverOf } from './password-file.ts'
import { type EmbeddedSettings, readSettings } from './settings/settings.ts'

function facts(dashboard: BannerFacts['dashboard']): BannerFacts {
  const read = readSettings({}, { cores: 1 })
  if (read.kind === 'wrong') throw new Error(read.line)
  return {
    version: '1',
    profile: read.settings.profile,
    httpUrl: 'http://127.0.0.1:8000',
    mqttUrl: 'mqtt://127.0.0.1:1883',
    durability: 'power',
    registration: 'open',
    startedInMs: 1,
    admin: undefined,
    dashboard,
    simulated: 0,
  }
}
const URL = 'http://localhost:8000'

describe('the banner', () => {
  test('the dashboard comes first, with an address that logs in once', () => {
    const text = bannerText(facts({ url: URL, next: `${URL}/login#ticket=lgn_x` }))
    expect(text).toMatch(
      /ready in .*\n +Dashboard +http:\/\/localhost:8000\n +http:\/\/localhost:8000\/login#ticket=lgn_x {3}\(logs in once, within 15 minutes\)\n +API/,
    )
  })

  test('a service without users is set up first', () => {
    expect(bannerText(facts({ url: URL, next: `${URL}/setup` }))).toContain(
      `${URL}/setup   (the first account)`,
    )
  })

  test('a dashboard that is switched off is not named', () => {
    expect(bannerText(facts(undefined))).not.toContain('Dashboard')
  })

  test('the line for programs never has the ticket', () => {
    expect(readyLine(facts({ url: URL, next: `${URL}/login#ticket=lgn_x` }), 0)).not.toContain('lgn_')
  })

  test('the line for programs names the file of a generated password, and never has the password', () => {
    const admin = { id: UserId('usr_1'), email: 'a@b.c', generatedPassword: 'x7', passwordFile: undefined }
    const kept = { ...admin, generatedPassword: undefined, passwordFile: '/data/admin-password' }
    expect(readyLine({ ...facts(undefined), admin }, 0)).not.toContain('x7')
    expect(JSON.parse(readyLine({ ...facts(undefined), admin: kept }, 0))).toMatchObject({
      admin_email: 'a@b.c',
      admin_password_file: '/data/admin-password',
    })
    expect(bannerText({ ...facts(undefined), admin })).toContain('a@b.c / x7   (shown only once)')
  })

  test.skipIf(process.platform === 'win32')(
    'a password in a file is for its owner, whatever was there',
    () => {
      const dataDir = mkdtempSync(join(tmpdir(), 'fleet-password-'))
      try {
        const path = join(dataDir, 'admin-password')
        writeFileSync(join(dataDir, 'theirs'), '', { mode: 0o666 })
        symlinkSync(join(dataDir, 'theirs'), path)
        const profile = { ...facts(undefined).profile, dataDir } as EmbeddedSettings
        const handOver = handOverOf(profile, false)
        expect(typeof handOver === 'function' && handOver('x7')).toBe(path)
        expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['x7\n', 0o600])
        expect(readFileSync(join(dataDir, 'theirs'), 'utf8')).toBe('')
        expect(handOverOf(profile, true)).toBe('shown')
      } finally {
        rmSync(dataDir, { recursive: true })
      }
    },
  )
})
