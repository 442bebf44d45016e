// The settings of firmware: links, bounds and keys.
import { createPublicKey, type KeyObject } from 'node:crypto'
import type { OtaSigning } from '../../auth/ota-keys.ts'
import { parsePrivateKey, parsePublicKey } from '../../auth/pem-key.ts'
import type { Name } from './names.ts'
import type { Reader } from './reader.ts'
import { PEM_BLOCK } from './signing.ts'

export interface OtaSettings {
  /** Base URL of download links, without a trailing slash. Undefined means the public URL of the service. */
  readonly publicUrl: string | undefined
  readonly downloadsMax: number
  /** `redirect` sends devices to S3 to download images from there. */
  readonly downloads: 'proxy' | 'redirect'
  /** Limit for all downloads of this node together. 0 means no limit. */
  readonly downloadBytesPerSec: number
  readonly urlTtlMs: number
  /** Whether hawkBit's device API is served. */
  readonly ddi: boolean
  readonly uploadBytesMax: number
  readonly storageBytesMax: number
  /** How long finished deployments are kept. */
  readonly retentionMs: number
  /** Every upload must be signed with one of these keys. If empty, no signature is needed. */
  readonly trustedKeys: readonly KeyObject[]
  readonly signing: OtaSigning
  readonly previousKeys: readonly string[]
}

const DAY_MS = 86_400_000
const GIB = 2 ** 30
const TIB = 2 ** 40
const KEYS_MAX = 8

export function readOta(reader: Reader, profile: 'embedded' | 'cluster'): OtaSettings {
  const bytes = (name: Name, otherwise: number) =>
    reader.number(name, { min: 1, max: 1_000 * TIB, default: otherwise })
  return {
    publicUrl: reader
      .url('FLEET_OTA_PUBLIC_URL', ['http', 'https'], 'http://fleet.example.com')
      ?.replace(/\/$/, ''),
    downloads: readDownloads(reader),
    downloadsMax: reader.number('FLEET_OTA_DOWNLOADS_MAX', { min: 1, max: 10_000, default: 256 }),
    downloadBytesPerSec: reader.number('FLEET_OTA_DOWNLOAD_RATE', { min: 0, max: TIB, default: 0 }),
    urlTtlMs: 1_000 * reader.number('FLEET_OTA_URL_TTL_SEC', { min: 60, max: 604_800, default: 86_400 }),
    ddi: reader.word('FLEET_DDI', ['on', 'off'], 'off') === 'on',
    uploadBytesMax: bytes('FLEET_OTA_UPLOAD_BYTES_MAX', 2 * GIB),
    retentionMs: DAY_MS * reader.number('FLEET_OTA_RETENTION_DAYS', { min: 1, max: 3_650, default: 365 }),
    storageBytesMax: bytes('FLEET_OTA_STORAGE_BYTES_MAX', 20 * GIB),
    trustedKeys: pemsOf(reader, 'FLEET_OTA_TRUSTED_KEYS').flatMap((pem) => trustedKey(reader, pem) ?? []),
    signing: readSigning(reader, profile),
    previousKeys: pemsOf(reader, 'FLEET_OTA_PREVIOUS_KEYS').filter((pem) => {
      const isRight = parsePublicKey(pem)?.alg === 'EdDSA'
      if (!isRight) reader.refuse('FLEET_OTA_PREVIOUS_KEYS', 'expected PEM keys: Ed25519')
      return isRight
    }),
  }
}

function readDownloads(reader: Reader): OtaSettings['downloads'] {
  const kind = reader.word('FLEET_OTA_DOWNLOADS', ['proxy', 'redirect'], 'proxy')
  if (kind === 'redirect' && reader.text('FLEET_S3_URL') === undefined)
    reader.refuse('FLEET_OTA_DOWNLOADS', 'redirect needs a bucket that devices can reach; set FLEET_S3_URL')
  return kind
}

function readSigning(reader: Reader, profile: 'embedded' | 'cluster'): OtaSigning {
  const pem = textOf(reader, 'FLEET_OTA_SIGNING_KEY')
  if (pem === undefined) return { kind: profile === 'embedded' ? 'kept' : 'none' }
  if (parsePrivateKey(pem)?.alg !== 'EdDSA')
    reader.refuse('FLEET_OTA_SIGNING_KEY', 'expected a PEM private key: Ed25519')
  return { kind: 'pem', pem }
}

function pemsOf(reader: Reader, name: Name): readonly string[] {
  const text = textOf(reader, name)
  if (text === undefined) return []
  const pems = [...text.matchAll(PEM_BLOCK)].map(([pem]) => pem)
  if (pems.length === 0 || text.replace(PEM_BLOCK, '').trim() !== '')
    reader.refuse(name, 'expected PEM keys and nothing else')
  if (pems.length > KEYS_MAX) reader.refuse(name, `has too many keys; expected at most ${KEYS_MAX}`)
  return pems
}

/** Accepts keys that work with one of the supported signature algorithms. */
function trustedKey(reader: Reader, pem: string): KeyObject | undefined {
  try {
    const key = createPublicKey(pem)
    const { namedCurve } = key.asymmetricKeyDetails ?? {}
    const { asymmetricKeyType: type } = key
    if (type === 'ed25519' || type === 'rsa' || type === 'rsa-pss') return key
    if (type === 'ec' && namedCurve === 'prime256v1') return key
  } catch {
    // Text that cannot be parsed is not a key.
  }
  reader.refuse('FLEET_OTA_TRUSTED_KEYS', 'expected PEM public keys: Ed25519, ECDSA P-256 or RSA')
  return undefined
}

const textOf = (reader: Reader, name: Name) => reader.text(name)?.replaceAll('\\n', '\n')
