// Reads the asymmetric keys that may sign tokens: RSA with at least 2048 bits, or Ed25519, as PEM.
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'

const RSA_BITS_MIN = 2048

export interface PemKey {
  readonly alg: 'RS256' | 'EdDSA'
  readonly key: KeyObject
}

/** Returns undefined for any other key. */
export function parsePrivateKey(pem: string): PemKey | undefined {
  return toPemKey(() => createPrivateKey(pem))
}

/** Accepts a private key too and takes its public half. */
export function parsePublicKey(pem: string): PemKey | undefined {
  return toPemKey(() => createPublicKey(pem))
}

function toPemKey(read: () => KeyObject): PemKey | undefined {
  const key = tryRead(read)
  if (key?.asymmetricKeyType === 'ed25519') return { alg: 'EdDSA', key }
  const bits = key?.asymmetricKeyDetails?.modulusLength ?? 0
  return key?.asymmetricKeyType === 'rsa' && bits >= RSA_BITS_MIN ? { alg: 'RS256', key } : undefined
}

function tryRead(read: () => KeyObject): KeyObject | undefined {
  try {
    return read()
  } catch {
    // Text that cannot be parsed is not a key.
    return undefined
  }
}
