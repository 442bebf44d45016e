import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Authority } from './authority.ts'

const DAY_MS = 86_400_000
const now = Date.now()
const URL = 'http://fleet.example.com/fleet-ca.crl'
let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'fleet-certs-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const make = (crlUrl?: string, days = 3_650) =>
  Authority.create(join(dir, 'ca'), { name: 'Fleet CA', days, crlUrl, now })
const read = (name: string) => readFileSync(join(dir, 'ca', name), 'utf8')
const certificate = (path: string) => new X509Certificate(readFileSync(path))

describe('a certificate', () => {
  test('a device certificate names the device, is signed by the CA and has the requested validity', () => {
    const files = make().issueDevice('robot-7', { days: 30, now })
    const [issued, ca] = [certificate(files.certificate), new X509Certificate(read('ca.crt'))]
    expect(issued.subject).toBe('CN=robot-7')
    expect([issued.issuer, issued.checkIssued(ca), issued.verify(ca.publicKey)]).toEqual([
      'CN=Fleet CA',
      true,
      true,
    ])
    expect(Date.parse(issued.validTo)).toBe(Math.floor((now + 30 * DAY_MS) / 1000) * 1000)
    expect([issued.ca, ca.ca]).toEqual([false, true])
    expect(issued.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2'])
  })

  test('a server certificate is valid for its host names and addresses only', () => {
    const hosts = ['mqtt.example.com', '10.0.0.1', 'fd00::1:2', '::1'] as const
    const issued = certificate(make().issueServer([...hosts], { days: 90, now }).certificate)
    expect(issued.checkHost('mqtt.example.com')).toBe('mqtt.example.com')
    expect(issued.checkHost('other.example.com')).toBeUndefined()
    for (const host of hosts.slice(1)) expect([host, issued.checkIP(host)]).toEqual([host, host])
  })

  test('a certificate never outlives its CA, not even beyond 2049', () => {
    const authority = make(undefined, 20_000)
    const ca = new X509Certificate(read('ca.crt'))
    expect(new Date(ca.validTo).getUTCFullYear()).toBeGreaterThan(2_050)
    const { certificate: path } = authority.issueDevice('a', { days: 30_000, now })
    expect(certificate(path).validTo).toBe(ca.validTo)
  })

  test('a name that is not a device id gets no certificate', () => {
    const authority = make()
    for (const name of ['fleet:api', '+', '#', 'a/b', '', 'x'.repeat(65), '../x', 'a\nb'])
      expect(() => authority.issueDevice(name, { days: 1, now })).toThrow('not a device id')
    expect(authority.issued()).toEqual([])
  })

  test('only the owner can read the key files', () => {
    const { key } = make().issueDevice('a', { days: 1, now })
    for (const path of [key, join(dir, 'ca', 'ca.key')]) expect(statSync(path).mode & 0o777).toBe(0o600)
  })
})

describe('a CA', () => {
  test('a folder holds one CA, which records what it issued and revoked', () => {
    const authority = make()
    expect(() => make()).toThrow('already has a CA')
    expect(() => Authority.open(join(dir, 'none'))).toThrow('has no CA')
    authority.issueDevice('a', { days: 1, now })
    authority.issueDevice('a', { days: 2, now })
    authority.issueDevice('b', { days: 1, now })
    const again = Authority.open(join(dir, 'ca'))
    expect(again.revoke('a', { now }).map(({ name }) => name)).toEqual(['a', 'a'])
    expect(again.revoke('a', { now })).toEqual([])
    expect(() => again.revoke('c', { now })).toThrow('no certificate was issued to "c"')
    const states = Authority.open(join(dir, 'ca'))
      .issued()
      .map(({ name, revoked_at }) => [name, revoked_at !== null])
    expect(states).toEqual([
      ['a', true],
      ['a', true],
      ['b', false],
    ])
  })

  test('a folder that lacks a file of the CA, or has a damaged one, is refused with what to do', () => {
    make()
    const ca = join(dir, 'ca')
    writeFileSync(join(ca, 'issued.json'), '{"name":')
    expect(() => Authority.open(ca)).toThrow(
      `${ca}/issued.json is damaged; put it back from a copy, because without it no certificate can be revoked`,
    )
    writeFileSync(join(ca, 'issued.json'), '[]')
    expect(() => Authority.open(ca)).toThrow('issued.json is damaged')
    rmSync(join(ca, 'issued.json'))
    expect(() => Authority.open(ca)).toThrow(
      `${ca} has a CA, but no issued.json; put it back where ca.key is`,
    )
    rmSync(ca, { recursive: true })
    make()
    rmSync(join(ca, 'ca.key'))
    expect(() => Authority.open(ca)).toThrow(`${ca} has no ca.key; put the key of this CA back to use it`)
  })

  test('a serial number revokes a single certificate', () => {
    const authority = make()
    const { certificate: path } = authority.issueDevice('a', { days: 1, now })
    authority.issueDevice('a', { days: 1, now })
    const { serialNumber } = certificate(path)
    expect(authority.revoke(serialNumber.toLowerCase(), { now })).toMatchObject([{ serial: serialNumber }])
    expect(authority.issued().filter(({ revoked_at }) => revoked_at === null)).toHaveLength(1)
  })
})

// OpenSSL judges the bytes independently.
describe.skipIf(!hasOpenssl())('openssl', () => {
  const verify = (path: string) => {
    writeFileSync(join(dir, 'trusted.pem'), read('ca.crt') + read('ca.crl'))
    try {
      const args = ['verify', '-x509_strict', '-crl_check_all', '-CAfile', join(dir, 'trusted.pem'), path]
      return execFileSync('openssl', args, { encoding: 'utf8', stdio: 'pipe' }).trim().split(': ').at(-1)
    } catch (error) {
      return String(error instanceof Error && 'stderr' in error ? error.stderr : error)
    }
  }

  test.each([undefined, URL])(
    'openssl accepts valid certificates and rejects revoked ones (list at %s)',
    (crlUrl) => {
      const authority = make(crlUrl)
      const good = authority.issueDevice('good', { days: 1, now }).certificate
      const bad = authority.issueDevice('bad', { days: 1, now }).certificate
      const server = authority.issueServer(['localhost'], { days: 1, now }).certificate
      expect([verify(good), verify(bad), verify(server)]).toEqual(['OK', 'OK', 'OK'])
      authority.revoke('bad', { now })
      expect(verify(bad)).toContain('certificate revoked')
      expect([verify(good), verify(server)]).toEqual(['OK', 'OK'])
      const shown = execFileSync(
        'openssl',
        ['x509', '-in', good, '-noout', '-ext', 'crlDistributionPoints'],
        {
          encoding: 'utf8',
          stdio: 'pipe',
        },
      )
      expect(shown.includes(URL)).toBe(crlUrl !== undefined)
    },
  )

  test('openssl reports an old certificate as expired', () => {
    const authority = Authority.create(join(dir, 'ca'), {
      name: 'x',
      days: 100,
      crlUrl: undefined,
      now: now - 50 * DAY_MS,
    })
    expect(verify(authority.issueDevice('old', { days: 10, now: now - 50 * DAY_MS }).certificate)).toContain(
      'expired',
    )
  })
})

function hasOpenssl(): boolean {
  try {
    return execFileSync('openssl', ['version'], { encoding: 'utf8' }).startsWith('OpenSSL')
  } catch {
    return false
  }
}
