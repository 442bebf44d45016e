// Which asymmetric keys may sign tokens: RSA of 2048 bits or more, or Ed25519, as PEM.
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'

const RSA_BITS_MIN = 2048

export interface PemKey {
  readonly alg: 'RS256' | 'EdDSA'
  readonly key: KeyObject
}

/** Undefined for anything else. */
export function parsePrivateKey(pem: string): PemKey | undefined {
  return fitting(() => createPrivateKey(pem))
}

/** Takes a private key too, for its public half. */
export function parsePublicKey(pem: string): PemKey | undefined {
  return fitting(() => createPublicKey(pem))
}

function fitting(read: () => KeyObject): PemKey | undefined {
  const key = readable(read)
  if (key?.asymmetricKeyType === 'ed25519') return { alg: 'EdDSA', key }
  const bits = key?.asymmetricKeyDetails?.modulusLength ?? 0
  return key?.asymmetricKeyType === 'rsa' && bits >= RSA_BITS_MIN ? { alg: 'RS256', key } : undefined
}

function readable(read: () => KeyObject): KeyObject | undefined {
  try {
    return read()
  } catch {
    // Whatever is wrong with it, it is not a key.
    return undefined
  }
}
