// Which private keys may sign tokens.
import { createPrivateKey, type KeyObject } from 'node:crypto'

const RSA_BITS_MIN = 2048

export interface PrivateKey {
  readonly alg: 'RS256' | 'EdDSA'
  readonly key: KeyObject
}

/** RSA of 2048 bits or more, or Ed25519, as PEM; undefined for anything else. */
export function parsePrivateKey(pem: string): PrivateKey | undefined {
  const key = readPem(pem)
  if (key?.asymmetricKeyType === 'ed25519') return { alg: 'EdDSA', key }
  const bits = key?.asymmetricKeyDetails?.modulusLength ?? 0
  return key?.asymmetricKeyType === 'rsa' && bits >= RSA_BITS_MIN ? { alg: 'RS256', key } : undefined
}

function readPem(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    // Whatever is wrong with it, it is not a key.
    return undefined
  }
}
