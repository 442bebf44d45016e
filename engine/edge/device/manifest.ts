// The signed manifest of a firmware message: it binds the image to this device, this order and this time.

import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { parseJsonObject } from '../../../schemas/json.ts'
import type { FirmwareMessage } from './firmware-message.ts'

/** Public keys as the service publishes them at `/.well-known/ota-keys.json`. */
export interface ManifestKeys {
  readonly keys: readonly {
    readonly kid?: string
    readonly kty: string
    readonly crv?: string
    readonly x?: string
  }[]
}

/** Returns why the message must not be trusted; undefined if its manifest is signed and says the same as the message. */
export function distrust(
  message: FirmwareMessage,
  about: {
    readonly deviceId: string
    readonly keys: ManifestKeys
    readonly lastSeq: number
    readonly now: number
  },
): string | undefined {
  const claims = message.manifest === undefined ? undefined : verified(message.manifest, about.keys)
  if (claims === undefined) return 'the message has no manifest that is signed by a known key'
  const { sub, dep, attempt, seq, act, ver, typ, sha256, size, exp } = claims
  if (sub !== about.deviceId) return 'the manifest is for another device'
  const isSame =
    dep === message.deploymentId &&
    attempt === message.attempt &&
    seq === message.seq &&
    act === message.action &&
    ver === message.version &&
    (typ === undefined || typ === message.deviceType) &&
    sha256 === message.sha256 &&
    size === message.sizeBytes
  if (!isSame) return 'the manifest does not say what the message says'
  if (message.seq <= about.lastSeq)
    return `the message is an old one: its number is ${message.seq}, not above ${about.lastSeq}`
  if (typeof exp === 'number' && exp * 1_000 <= about.now) return 'the manifest has expired'
  return undefined
}

function verified(jws: string, { keys }: ManifestKeys): Readonly<Record<string, unknown>> | undefined {
  const [head = '', body = '', signature = '', ...rest] = jws.split('.')
  const header = parsePart(head)
  if (rest.length > 0 || header?.['alg'] !== 'EdDSA') return undefined
  const signed = Buffer.from(`${head}.${body}`)
  for (const key of keys) {
    if (header['kid'] !== undefined && key.kid !== undefined && key.kid !== header['kid']) continue
    const publicKey = toKey(key)
    if (publicKey !== undefined && verify(null, signed, publicKey, Buffer.from(signature, 'base64url')))
      return parsePart(body)
  }
  return undefined
}

function toKey(key: ManifestKeys['keys'][number]): KeyObject | undefined {
  try {
    const publicKey = createPublicKey({ key: { ...key }, format: 'jwk' })
    return publicKey.asymmetricKeyType === 'ed25519' ? publicKey : undefined
  } catch {
    // A key that cannot be read has signed nothing.
    return undefined
  }
}

const parsePart = (part: string) => parseJsonObject(Buffer.from(part, 'base64url').toString('utf8'))
