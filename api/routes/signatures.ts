// Whether an image was signed with a key that the operator trusts.
import { constants, createVerify, type KeyObject, verify } from 'node:crypto'
import type { SignatureAlg } from '../../schemas/vocabulary.ts'

export interface SignedImage {
  readonly sha256: string
  readonly signature: string
  readonly alg: SignatureAlg
  /** Reads the whole image. */
  readonly read: () => AsyncIterable<Uint8Array>
}

/** Accepts a signature by any of the keys that fit the algorithm. */
export async function isSignedBy(keys: readonly KeyObject[], image: SignedImage): Promise<boolean> {
  const fitting = keys.filter(
    ({ asymmetricKeyType: type }) => type !== undefined && TYPES[image.alg].includes(type),
  )
  const signature = Buffer.from(image.signature, 'base64')
  const { alg } = image
  if (alg === 'ed25519') {
    const digest = Buffer.from(image.sha256, 'hex')
    return fitting.some((key) => verify(null, digest, key, signature))
  }
  const checks = fitting.map((key) => ({ key, check: createVerify('sha256') }))
  if (checks.length === 0) return false
  for await (const part of image.read()) for (const { check } of checks) check.update(part)
  return checks.some(({ key, check }) => check.verify({ key, ...PADDING[alg] }, signature))
}

const TYPES: Readonly<Record<SignatureAlg, readonly string[]>> = {
  ed25519: ['ed25519'],
  'ecdsa-p256-sha256': ['ec'],
  'rsa-pss-sha256': ['rsa', 'rsa-pss'],
}
const PADDING = {
  'ecdsa-p256-sha256': { dsaEncoding: 'der' },
  'rsa-pss-sha256': {
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  },
} as const
