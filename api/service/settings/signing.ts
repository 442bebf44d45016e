// The settings of the keys that sign tokens.
import type { PreviousKey, Signing } from '../../auth/key-ring.ts'
import { parsePrivateKey, parsePublicKey } from '../../auth/pem-key.ts'
import { API_LIMITS } from '../../limits.ts'
import type { Reader } from './reader.ts'

const SECRET_BYTES_MIN = 32

export function readSigning(reader: Reader, profile: 'embedded' | 'cluster'): Signing {
  const secret = reader.text('FLEET_JWT_SECRET')
  const pem = reader.text('FLEET_JWT_PRIVATE_KEY')?.replaceAll('\\n', '\n')
  if (secret !== undefined && pem !== undefined)
    reader.refuse('FLEET_JWT_SECRET', 'and FLEET_JWT_PRIVATE_KEY are both set; set only one of them')
  if (secret !== undefined) {
    if (Buffer.byteLength(secret) < SECRET_BYTES_MIN)
      reader.refuse('FLEET_JWT_SECRET', `is too short; expected at least ${SECRET_BYTES_MIN} bytes`)
    return { kind: 'secret', secret }
  }
  if (pem !== undefined) {
    if (parsePrivateKey(pem) === undefined)
      reader.refuse(
        'FLEET_JWT_PRIVATE_KEY',
        'expected a PEM private key: RSA of 2048 bits or more, or Ed25519',
      )
    return { kind: 'private_key', pem }
  }
  if (profile === 'cluster')
    reader.refuse('FLEET_JWT_SECRET', 'or FLEET_JWT_PRIVATE_KEY is required in the cluster profile')
  return { kind: 'kept' }
}

export const PEM_BLOCK = /-----BEGIN ([A-Z ]+)-----[^-]*-----END \1-----/g

/** Reads PEM blocks, and secrets on separate lines. */
export function readPreviousKeys(reader: Reader): readonly PreviousKey[] {
  const text = reader.text('FLEET_JWT_PREVIOUS_KEYS')?.replaceAll('\\n', '\n') ?? ''
  const pems = [...text.matchAll(PEM_BLOCK)].map(([pem]) => pem)
  const lines = text.replace(PEM_BLOCK, '').split('\n')
  const secrets = lines.map((line) => line.trim()).filter((line) => line !== '')
  if (pems.length + secrets.length > API_LIMITS.previousKeysMax)
    reader.refuse(
      'FLEET_JWT_PREVIOUS_KEYS',
      `has too many keys; expected at most ${API_LIMITS.previousKeysMax}`,
    )
  if (secrets.some((secret) => Buffer.byteLength(secret) < SECRET_BYTES_MIN))
    reader.refuse(
      'FLEET_JWT_PREVIOUS_KEYS',
      `expected PEM keys, or secrets of at least ${SECRET_BYTES_MIN} bytes on separate lines`,
    )
  if (pems.some((pem) => parsePublicKey(pem) === undefined))
    reader.refuse('FLEET_JWT_PREVIOUS_KEYS', 'expected PEM keys: RSA of 2048 bits or more, or Ed25519')
  return [
    ...pems.map((pem) => ({ kind: 'pem', pem }) as const),
    ...secrets.map((secret) => ({ kind: 'secret', secret }) as const),
  ]
}
