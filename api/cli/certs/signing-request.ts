// Parses and checks a certificate signing request (PKCS #10, RFC 2986) of a device. Only its key and its name are ever
// used: a certificate never gets an extension because a request asked for it.
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { DerError, type DerValue, expectTag, readOid, readValues } from './der-reader.ts'

export type SigningRequest =
  | {
      readonly kind: 'request'
      readonly commonName: string | undefined
      readonly key: KeyObject
      /** Requested names in addition to the common name. */
      readonly otherNames: readonly string[]
    }
  | { readonly kind: 'unfit'; readonly why: string }

const SEQUENCE = 0x30
const BITS = 0x03
const ATTRIBUTES = 0xa0
const OID = {
  commonName: '2.5.4.3',
  extensionRequest: '1.2.840.113549.1.9.14',
  basicConstraints: '2.5.29.19',
  alternativeNames: '2.5.29.17',
} as const
/** The hash of each accepted signature algorithm. Ed25519 includes its own. */
const HASHES: Readonly<Record<string, string | null>> = {
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.3.101.112': null,
}
const RSA_BITS_MIN = 2048
const CURVES: ReadonlySet<string | undefined> = new Set(['prime256v1', 'secp384r1', 'secp521r1'])
const PEM = /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END/

/** Reads PEM or DER. */
export function readSigningRequest(file: Buffer): SigningRequest {
  try {
    const body = PEM.exec(file.toString('latin1'))?.[1]
    return checkRequest(body === undefined ? file : Buffer.from(body, 'base64'))
  } catch (error) {
    if (error instanceof DerError || isCryptoError(error))
      return unfit(`it is no certificate signing request (PKCS #10, PEM or DER): ${error.message}`)
    throw error
  }
}

function checkRequest(bytes: Buffer): SigningRequest {
  const [outer, ...more] = readValues(bytes)
  if (more.length > 0) throw new DerError('more bytes follow the request')
  const [info, algorithm, signature] = readValues(expectTag(outer, SEQUENCE).content)
  const [, subject, spki, attributes] = readValues(expectTag(info, SEQUENCE).content)
  const key = createPublicKey({ key: expectTag(spki, SEQUENCE).whole, format: 'der', type: 'spki' })
  const weakness = weaknessOf(key)
  if (weakness !== undefined) return unfit(weakness)
  const [algorithmId] = readValues(expectTag(algorithm, SEQUENCE).content)
  const hash = HASHES[readOid(algorithmId)]
  if (hash === undefined) return unfit('it is signed with an algorithm that is not known; use SHA-256')
  // The first byte of a bit string is the number of unused bits.
  const [unused, ...signed] = expectTag(signature, BITS).content
  if (unused !== 0) throw new DerError('the signature is not a whole number of bytes')
  if (!verify(hash, expectTag(info, SEQUENCE).whole, key, Buffer.from(signed)))
    return unfit('its signature does not fit: whoever made it does not have the key, or it was changed')
  const wanted = extensionsOf(attributes)
  if (wanted.some(({ id, value }) => id === OID.basicConstraints && isAuthority(value)))
    return unfit('it asks for a certificate authority (CA:TRUE); leave out basicConstraints')
  const otherNames = wanted.flatMap(({ id, value }) => (id === OID.alternativeNames ? namesIn(value) : []))
  const names = commonNamesOf(expectTag(subject, SEQUENCE))
  if (names.length > 1) return unfit('it has several common names; use one, the device id')
  return { kind: 'request', commonName: names[0], key, otherNames }
}

function weaknessOf(key: KeyObject): string | undefined {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {}
  const isFit =
    key.asymmetricKeyType === 'ed25519' ||
    (key.asymmetricKeyType === 'rsa' && modulusLength >= RSA_BITS_MIN) ||
    (key.asymmetricKeyType === 'ec' && CURVES.has(namedCurve))
  return isFit
    ? undefined
    : `its key is too weak or of an unknown sort; use P-256, Ed25519 or RSA with ${RSA_BITS_MIN} bits`
}

function commonNamesOf(subject: DerValue): readonly string[] {
  return readValues(subject.content).flatMap((set) =>
    readValues(set.content).flatMap((pair) => {
      const [id, value] = readValues(pair.content)
      return readOid(id) === OID.commonName ? [(value?.content ?? Buffer.alloc(0)).toString('utf8')] : []
    }),
  )
}

interface Extension {
  readonly id: string
  readonly value: Buffer
}

function extensionsOf(attributes: DerValue | undefined): readonly Extension[] {
  if (attributes?.tag !== ATTRIBUTES) return []
  return readValues(attributes.content).flatMap((attribute) => {
    const [id, values] = readValues(attribute.content)
    if (readOid(id) !== OID.extensionRequest) return []
    return readValues(values?.content ?? Buffer.alloc(0)).flatMap((list) =>
      readValues(list.content).map((extension) => {
        const parts = readValues(extension.content)
        // A flag that marks the extension as critical may come in between.
        return { id: readOid(parts[0]), value: parts.at(-1)?.content ?? Buffer.alloc(0) }
      }),
    )
  })
}

function isAuthority(constraints: Buffer): boolean {
  const [list] = readValues(constraints)
  const [isCa] = readValues(expectTag(list, SEQUENCE).content)
  return isCa?.tag === 0x01 && isCa.content[0] !== 0
}

/** Names of any kind, as text. */
function namesIn(alternativeNames: Buffer): readonly string[] {
  const [list] = readValues(alternativeNames)
  return readValues(expectTag(list, SEQUENCE).content).map(({ content }) => content.toString('latin1'))
}

function unfit(why: string): SigningRequest {
  return { kind: 'unfit', why }
}

function isCryptoError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_')
}
