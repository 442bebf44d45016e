// Creates X.509 certificates and revocation lists (RFC 5280) for P-256 keys, because Node can only read and verify them.
// Only what Fleet needs is supported.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { isIP } from 'node:net'
import {
  bits,
  bytes,
  der,
  implicit,
  integer,
  oid,
  pem,
  sequence,
  set,
  TAG,
  tagged,
  text,
  time,
  yes,
} from './der.ts'

export interface Issuer {
  readonly name: string
  readonly key: KeyObject
  /** URL of the revocation list. If set, every certificate names it. */
  readonly crlUrl: string | undefined
}

export interface CertificateOptions {
  readonly kind: 'authority' | 'server' | 'device'
  readonly name: string
  /** Host names and addresses of the server. */
  readonly hosts?: readonly string[]
  /** A public key is enough. */
  readonly key: KeyObject
  readonly from: number
  readonly until: number
}

export interface RevokedCertificate {
  /** Hexadecimal. */
  readonly serial: string
  readonly at: number
}

const OID = {
  commonName: '2.5.4.3',
  ecdsaSha256: '1.2.840.10045.4.3.2',
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedKeyUsage: '2.5.29.37',
  subjectKey: '2.5.29.14',
  issuerKey: '2.5.29.35',
  alternativeNames: '2.5.29.17',
  crlPlace: '2.5.29.31',
  crlNumber: '2.5.29.20',
  crlScope: '2.5.29.28',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const
const SERIAL_BYTES = 16

export function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
}

export function keyFromPem(text: string): KeyObject {
  return createPrivateKey(text)
}

export function keyToPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

export function makeCertificate(
  issuer: Issuer,
  wanted: CertificateOptions,
): { readonly serial: string; readonly pem: string } {
  const serial = randomBytes(SERIAL_BYTES)
  // A positive number without leading zeros, which all programs print the same way.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
  const content = sequence(
    tagged(0, integer(2)),
    integer(serial),
    algorithm(),
    nameOf(issuer.name),
    sequence(time(wanted.from), time(wanted.until)),
    nameOf(wanted.name),
    publicKeyOf(wanted.key),
    tagged(3, sequence(...extensions(issuer, wanted))),
  )
  return {
    serial: serial.toString('hex').toUpperCase(),
    pem: pem('CERTIFICATE', signed(content, issuer.key)),
  }
}

/** `number` must grow with each list. After `until` the list expires, and no certificate is accepted any more. */
export function makeCrl(
  issuer: Issuer,
  {
    revoked,
    number,
    from,
    until,
  }: { revoked: readonly RevokedCertificate[]; number: number; from: number; until: number },
): string {
  const entries = revoked.map(({ serial, at }) => sequence(integer(Buffer.from(serial, 'hex')), time(at)))
  const scope =
    issuer.crlUrl === undefined
      ? []
      : [extension(OID.crlScope, sequence(tagged(0, tagged(0, uri(issuer.crlUrl)))), true)]
  const content = sequence(
    integer(1),
    algorithm(),
    nameOf(issuer.name),
    time(from),
    time(until),
    ...(entries.length === 0 ? [] : [sequence(...entries)]),
    tagged(0, sequence(issuerKey(issuer), extension(OID.crlNumber, integer(number)), ...scope)),
  )
  return pem('X509 CRL', signed(content, issuer.key))
}

function extensions(issuer: Issuer, { kind, hosts = [], key }: CertificateOptions): readonly Buffer[] {
  const isAuthority = kind === 'authority'
  // digitalSignature for a device or server, keyCertSign and cRLSign for an authority.
  const usage = isAuthority ? bits(Buffer.from([0x06]), 1) : bits(Buffer.from([0x80]), 7)
  const purpose = kind === 'server' ? [oid(OID.serverAuth), oid(OID.clientAuth)] : [oid(OID.clientAuth)]
  return [
    extension(OID.basicConstraints, isAuthority ? sequence(yes()) : sequence(), true),
    extension(OID.keyUsage, usage, true),
    ...(isAuthority ? [] : [extension(OID.extendedKeyUsage, sequence(...purpose))]),
    extension(OID.subjectKey, bytes(keyId(key))),
    issuerKey(issuer),
    ...(hosts.length === 0 ? [] : [extension(OID.alternativeNames, sequence(...hosts.map(hostName)))]),
    ...(issuer.crlUrl === undefined
      ? []
      : [extension(OID.crlPlace, sequence(sequence(tagged(0, tagged(0, uri(issuer.crlUrl))))))]),
  ]
}

function extension(id: string, value: Uint8Array, isCritical = false): Buffer {
  return sequence(oid(id), ...(isCritical ? [yes()] : []), bytes(value))
}

function issuerKey({ key }: Issuer): Buffer {
  return extension(OID.issuerKey, sequence(implicit(0, keyId(key))))
}

function uri(url: string): Buffer {
  return implicit(6, Buffer.from(url, 'latin1'))
}

function hostName(host: string): Buffer {
  if (isIP(host) === 0) return implicit(2, Buffer.from(host, 'latin1'))
  return implicit(7, isIP(host) === 4 ? Buffer.from(host.split('.').map(Number)) : ipv6(host))
}

function ipv6(host: string): Buffer {
  const [head = '', tail] = new URL(`http://[${host}]`).hostname.slice(1, -1).split('::')
  const parts = (text: string | undefined) => (text === undefined || text === '' ? [] : text.split(':'))
  const [before, after] = [parts(head), parts(tail)]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  const address = Buffer.alloc(16)
  for (const [index, part] of [...before, ...zeros, ...after].entries())
    address.writeUInt16BE(Number.parseInt(part, 16), index * 2)
  return address
}

function nameOf(commonName: string): Buffer {
  return sequence(set(sequence(oid(OID.commonName), text(commonName))))
}

function algorithm(): Buffer {
  return sequence(oid(OID.ecdsaSha256))
}

function publicKeyOf(key: KeyObject): Buffer {
  const known = key.type === 'public' ? key : createPublicKey(key)
  return known.export({ type: 'spki', format: 'der' })
}

/** Any identifier works, as long as it is the same in the certificate and its issuer. */
function keyId(key: KeyObject): Buffer {
  return createHash('sha256').update(publicKeyOf(key)).digest().subarray(0, 20)
}

function signed(content: Buffer, key: KeyObject): Buffer {
  return sequence(content, algorithm(), der(TAG.bits, Buffer.from([0]), sign('sha256', content, key)))
}
