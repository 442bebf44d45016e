// The key that signs tokens, by the settings: a shared secret, a private key, or a secret the store keeps.
import { createPublicKey, type KeyObject, randomBytes, webcrypto } from 'node:crypto'
import { type CryptoKey, importPKCS8, importSPKI } from 'jose'
import type { Store } from '../../engine/ports/store.ts'
import type { Signing } from '../settings.ts'
import { parsePrivateKey } from './private-key.ts'

export interface SigningKey {
  /** The only algorithm that is accepted: a token's own header never chooses. */
  readonly alg: 'HS256' | 'RS256' | 'EdDSA'
  /** Imported once: a `KeyObject` would be converted at every token, for a third of its cost. */
  readonly sign: CryptoKey | KeyObject
  readonly verify: CryptoKey | KeyObject
}

const FACT = 'jwt_secret'
const SECRET_BYTES = 32

export async function openSigningKey(
  signing: Signing,
  store: Pick<Store, 'getFact' | 'putFact'>,
): Promise<SigningKey> {
  if (signing.kind === 'private_key') return await asymmetricKey(signing.pem)
  const secret = signing.kind === 'secret' ? signing.secret : await keptSecret(store)
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const bytes = Buffer.from(secret)
  const key = await webcrypto.subtle.importKey('raw', bytes, algorithm, false, ['sign', 'verify'])
  return { alg: 'HS256', sign: key, verify: key }
}

async function asymmetricKey(pem: string): Promise<SigningKey> {
  const parsed = parsePrivateKey(pem)
  if (parsed === undefined) throw new Error('a private key was accepted and cannot be read')
  const { alg, key } = parsed
  // The settings take any PEM a key may come in; jose takes these two.
  const privatePem = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  const publicPem = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()
  return { alg, sign: await importPKCS8(privatePem, alg), verify: await importSPKI(publicPem, alg) }
}

async function keptSecret(store: Pick<Store, 'getFact' | 'putFact'>): Promise<string> {
  const kept = store.getFact(FACT)
  if (kept !== undefined) return kept
  const made = randomBytes(SECRET_BYTES).toString('base64url')
  await store.putFact(FACT, made)
  return made
}
