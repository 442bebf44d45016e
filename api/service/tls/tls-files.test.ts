import { X509Certificate } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Authority } from '../../cli/certs/authority.ts'
import { TlsFiles } from './tls-files.ts'

const OF_EVERYBODY = expect.stringContaining('every user of this machine')
const dir = mkdtempSync(join(tmpdir(), 'fleet-tls-'))
const now = Date.now()
const authority = Authority.create(join(dir, 'ca'), { name: 'CA', days: 2, crlUrl: undefined, now })
const [clientCa, crl] = [join(dir, 'ca', 'ca.crt'), join(dir, 'ca', 'ca.crl')]
const { certificate: cert, key } = authority.issueServer(['localhost'], { days: 1, now })
afterAll(() => rmSync(dir, { recursive: true }))

const silent = { info() {}, warn() {} }

function open(mode: number) {
  const told: unknown[] = []
  chmodSync(key, mode)
  const logger = { info() {}, warn: (...args: readonly unknown[]) => told.push(args) }
  return { told, files: new TlsFiles({ cert, key, clientCa: undefined, crl: undefined }, logger) }
}

test('a key that everybody on the machine may read is used with a warning that names it', () => {
  const warned = (mode: number): readonly unknown[] => {
    const { told, files } = open(mode)
    files.close()
    return told
  }
  expect([warned(0o600), warned(0o640)]).toEqual([[], []])
  expect(warned(0o666)).toEqual([[{ path: key }, OF_EVERYBODY]])
})

test('a key that becomes readable for everybody is warned about when it is read again', async () => {
  const { told, files } = open(0o600)
  chmodSync(key, 0o644)
  // The first look at a file happens in the background, and changes before it are not noticed.
  let seconds = 0
  const touched = () => {
    utimesSync(key, ++seconds, seconds)
    return told.length
  }
  await expect.poll(touched).toBeGreaterThan(0)
  files.close()
  expect(told[0]).toEqual([{ path: key }, OF_EVERYBODY])
})

test('a revocation list is taken in DER, as authorities publish it', () => {
  const device = authority.issueDevice('lost', { days: 1, now })
  authority.revoke('lost', { now })
  const [, text = ''] = /CRL-----([\s\S]*)-----END/.exec(readFileSync(crl, 'latin1')) ?? []
  const der = join(dir, 'list.der')
  writeFileSync(der, Buffer.from(text, 'base64'))
  const files = new TlsFiles({ cert, key, clientCa, crl: der }, silent)
  files.close()
  const { serialNumber } = new X509Certificate(readFileSync(device.certificate))
  expect(files.isRevoked(serialNumber)).toBe(true)
})

test('a CA file that is not yet written to its end is refused, because its devices would be', () => {
  const whole = readFileSync(clientCa)
  const path = join(dir, 'clients.crt')
  for (const half of [whole.subarray(0, 100), Buffer.concat([whole, whole.subarray(0, 100)])]) {
    writeFileSync(path, half)
    expect(() => new TlsFiles({ cert, key, clientCa: path, crl: undefined }, silent)).toThrow(
      /FLEET_TLS_CLIENT_CA: .* is incomplete/,
    )
  }
  writeFileSync(path, Buffer.concat([whole, whole]))
  new TlsFiles({ cert, key, clientCa: path, crl: undefined }, silent).close()
})
