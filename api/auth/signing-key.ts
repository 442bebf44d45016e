// The key that signs tokens, by the settings: a shared secret, a private key, or a secret the store keeps.
import { createPublicKey, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import type { Store } from '../../engine/ports/store.ts'
import type { Signing } from '../settings.ts'
import { parsePrivateKey } from './private-key.ts'

export interface SigningKey {
  /** The only algorithm that is accepted: a token's own header never chooses. */
  readonly alg: 'HS256' | 'RS256' | 'EdDSA'
  readonly sign: KeyObject
  readonly verify: KeyObject
}

const FACT = 'jwt_secret'
const SECRET_BYTES = 32

export async function openSigningKey(
  signing: Signing,
  store: Pick<Store, 'getFact' | 'putFact'>,
): Promise<SigningKey> {
  if (signing.kind === 'private_key') {
    const parsed = parsePrivateKey(signing.pem)
    if (parsed === undefined) throw new Error('a private key was accepted and cannot be read')
    return { alg: parsed.alg, sign: parsed.key, verify: createPublicKey(parsed.key) }
  }
  const secret = signing.kind === 'secret' ? signing.secret : await keptSecret(store)
  const key = createSecretKey(Buffer.from(secret))
  return { alg: 'HS256', sign: key, verify: key }
}

async function keptSecret(store: Pick<Store, 'getFact' | 'putFact'>): Promise<string> {
  const kept = store.getFact(FACT)
  if (kept !== undefined) return kept
  const made = randomBytes(SECRET_BYTES).toString('base64url')
  await store.putFact(FACT, made)
  return made
}
