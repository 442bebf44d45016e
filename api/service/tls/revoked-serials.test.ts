import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Authority } from '../../cli/certs/authority.ts'
import { revokedSerials, toSerial } from './revoked-serials.ts'

const dir = mkdtempSync(join(tmpdir(), 'fleet-crl-'))
afterAll(() => rmSync(dir, { recursive: true }))
const now = Date.now()
const authority = Authority.create(dir, { name: 'CA', days: 10, crlUrl: 'http://x/y.crl', now })
const list = () => readFileSync(join(dir, 'ca.crl'))

test('the serial numbers of a list are read from PEM and DER, in the notation of Node', () => {
  expect(revokedSerials(list())).toEqual(new Set())
  const serials = ['a', 'b', 'c'].map((name) => {
    const { certificate } = authority.issueDevice(name, { days: 1, now })
    return toSerial(new X509Certificate(readFileSync(certificate)).serialNumber)
  })
  authority.revoke('a', { now })
  authority.revoke('c', { now })
  const expected = new Set([serials[0], serials[2]])
  expect(revokedSerials(list())).toEqual(expected)
  const [, text = ''] = /CRL-----([\s\S]*)-----END/.exec(list().toString()) ?? []
  expect(revokedSerials(Buffer.from(text, 'base64'))).toEqual(expected)
  expect(revokedSerials(Buffer.concat([list(), list()]))).toEqual(expected)
})

test('other content is refused, and truncated or changed lists neither hang nor are misread', () => {
  for (const wrong of ['', 'hello', readFileSync(join(dir, 'ca.crt'), 'utf8')])
    expect(() => revokedSerials(Buffer.from(wrong))).toThrow(/not a certificate revocation list|not DER/)
  const [, text = ''] = /CRL-----([\s\S]*)-----END/.exec(list().toString()) ?? []
  const der = Buffer.from(text, 'base64')
  fc.assert(
    fc.property(fc.nat(der.length - 1), (length) => {
      expect(() => revokedSerials(der.subarray(0, length))).toThrow(
        /not a certificate revocation list|not DER/,
      )
    }),
  )
})

test('a file whose last list is not yet written to its end is refused, instead of passing for a shorter one', () => {
  const half = list().subarray(0, list().length / 2)
  expect(() => revokedSerials(Buffer.concat([list(), half]))).toThrow(/not a certificate revocation list/)
})

test('a serial number is normalised', () => {
  expect(['00ab', 'AB', '0', '00'].map(toSerial)).toEqual(['AB', 'AB', '0', '0'])
})
