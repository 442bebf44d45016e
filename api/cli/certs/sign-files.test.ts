import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Authority } from './authority.ts'
import { requestFiles, signFiles } from './sign-files.ts'
import { readSigningRequest } from './signing-request.ts'

const now = Date.now()
let dir: string
let authority: Authority
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'fleet-csr-'))
  authority = Authority.create(join(dir, 'ca'), { name: 'Fleet CA', days: 30, crlUrl: undefined, now })
})
afterAll(() => rmSync(dir, { recursive: true }))

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']

/** Makes a request with OpenSSL, and returns its file. */
function request(
  name: string,
  subject: string,
  more: readonly string[] = [],
  key: readonly string[] = EC,
): string {
  const file = join(dir, name)
  const keyFile = join(dir, `${basename(name)}.key`)
  const args = ['req', '-new', '-nodes', ...key, '-keyout', keyFile, '-subj', subject, '-out', file, ...more]
  execFileSync('openssl', args, { stdio: 'pipe' })
  return file
}

const sign = (file: string, deviceId?: string) =>
  signFiles(authority, [file], { deviceId, days: 5, now })[0] ?? expect.fail()
const errorOf = (file: string) => sign(file).error

describe.skipIf(!hasOpenssl())('a request made with OpenSSL', () => {
  test.each([
    ['P-256', EC],
    ['P-384', ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384']],
    ['RSA', ['-newkey', 'rsa:2048']],
    ['Ed25519', ['-newkey', 'ed25519']],
  ])(
    'with a key of %s is signed, and the certificate has the key and the name of the device',
    (sort, key) => {
      const id = `robot-${sort}`
      const file = request(`${id}.csr`, `/CN=${id}`, [], key)
      const signed = sign(file)
      expect(signed).toEqual({
        ...{ file, device_id: id, error: null },
        certificate: join(dir, 'ca', 'devices', `${id}.crt`),
      })
      const made = new X509Certificate(readFileSync(signed.certificate ?? ''))
      expect([made.subject, made.ca, made.subjectAltName]).toEqual([`CN=${id}`, false, undefined])
      expect(made.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2'])
      const ca = join(dir, 'ca', 'ca.crt')
      const args = [
        'verify',
        '-x509_strict',
        '-purpose',
        'sslclient',
        '-CAfile',
        ca,
        signed.certificate ?? '',
      ]
      expect(execFileSync('openssl', args, { encoding: 'utf8' })).toContain(': OK')
      const keyOf = ['pkey', '-in', join(dir, `${id}.csr.key`), '-pubout']
      expect(made.publicKey.export({ type: 'spki', format: 'pem' })).toBe(
        execFileSync('openssl', keyOf, { encoding: 'utf8' }),
      )
      expect(authority.issued().some(({ name, serial }) => name === id && serial === made.serialNumber)).toBe(
        true,
      )
    },
  )

  test('in DER form is accepted, too', () => {
    expect(sign(request('der.csr', '/CN=robot-der', ['-outform', 'DER'])).error).toBeNull()
  })

  test('without a device id is signed for the given device', () => {
    const file = request('serial.csr', '/O=Factory/CN=SN 4711')
    expect(errorOf(file)).toContain('"SN 4711" is not a device id')
    expect(sign(file, 'robot-7')).toMatchObject({ device_id: 'robot-7', error: null })
    const nameless = request('nameless.csr', '/O=Factory')
    expect(errorOf(nameless)).toContain('no common name')
  })

  test.each([
    ['an authority', ['-addext', 'basicConstraints=critical,CA:TRUE'], 'CA:TRUE'],
    ['another name', ['-addext', 'subjectAltName=DNS:fleet.example.com'], '"fleet.example.com"'],
    ['another device', ['-addext', 'subjectAltName=DNS:robot-1,DNS:robot-2'], '"robot-2"'],
    ['an address', ['-addext', 'subjectAltName=IP:10.0.0.1'], 'subjectAltName'],
  ])('that asks for %s is refused', (what, more, told) => {
    const before = authority.issued().length
    expect(errorOf(request(`${what}.csr`, '/CN=robot-1', more))).toContain(told)
    expect(authority.issued()).toHaveLength(before)
  })

  test('with additional names is signed without them', () => {
    const signed = sign(request('own.csr', '/CN=robot-1', ['-addext', 'subjectAltName=DNS:robot-1']))
    expect(new X509Certificate(readFileSync(signed.certificate ?? '')).subjectAltName).toBeUndefined()
  })

  test('with a weak key, two names or another name than a device’s is refused', () => {
    expect(errorOf(request('weak.csr', '/CN=a', [], ['-newkey', 'rsa:1024']))).toContain('too weak')
    expect(errorOf(request('two.csr', '/CN=a/CN=b'))).toContain('several common names')
    for (const name of ['fleet:api', '..', 'a b'])
      expect(errorOf(request('odd.csr', `/CN=${name}`))).toContain('not a device id')
  })

  test('that was tampered with is refused, wherever it was changed, and never signed for another device', () => {
    const file = request('sound.csr', '/CN=robot-1', ['-outform', 'DER'])
    const sound = readFileSync(file)
    for (let at = 0; at < sound.length; at++) {
      const changed = Buffer.from(sound)
      changed[at] = (changed[at] ?? 0) ^ 0x01
      expect([at, readSigningRequest(changed).kind]).toEqual([at, 'unfit'])
      expect([at, readSigningRequest(sound.subarray(0, at)).kind]).toEqual([at, 'unfit'])
    }
  })

  test('in a folder with bad ones is signed, and the bad ones are named', () => {
    const folder = join(dir, 'requests')
    mkdirSync(folder)
    request('requests/b.csr', '/CN=robot-b')
    request('requests/a.csr', '/CN=robot-a')
    request('requests/c.csr', '/CN=robot-a')
    writeFileSync(join(folder, 'broken.csr'), 'rubbish')
    writeFileSync(join(folder, 'notes.txt'), 'no request')
    const { files, isFolder } = requestFiles(folder)
    expect([isFolder, files.map((file) => basename(file))]).toEqual([
      true,
      ['a.csr', 'b.csr', 'broken.csr', 'c.csr'],
    ])
    const signed = signFiles(authority, files, { days: 5, now })
    expect(signed.map(({ device_id: id, error }) => id ?? error)).toEqual([
      'robot-a',
      'robot-b',
      expect.stringContaining('no certificate signing request'),
      expect.stringContaining('another file before it'),
    ])
  })
})

test('a certificate, a key or any bytes are not accepted as a request', () => {
  const { certificate, key } = authority.issueDevice('robot-9', { days: 1, now })
  for (const file of [certificate, key]) expect(errorOf(file)).toContain('no certificate signing request')
  for (const bytes of [
    '',
    '0',
    '\x30\x80',
    '\x30\x84\xff\xff\xff\xff',
    '\x30\x03\x02\x01',
    'A'.repeat(9_999),
  ])
    expect(readSigningRequest(Buffer.from(bytes, 'latin1')).kind).toBe('unfit')
  expect(() => requestFiles(join(dir, 'nowhere'))).toThrow('there is no file or folder')
})

function hasOpenssl(): boolean {
  try {
    return execFileSync('openssl', ['version'], { encoding: 'utf8' }).startsWith('OpenSSL')
  } catch {
    return false
  }
}
