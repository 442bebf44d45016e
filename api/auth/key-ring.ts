// The keys that sign tokens: the current one, and former ones whose tokens are still valid.
//
// - Algorithm and id of each key are determined here. A token's header can only choose among these keys.
import { createHmac, createPublicKey, type KeyObject, randomBytes, webcrypto } from 'node:crypto'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, importPKCS8, importSPKI, type JWK } from 'jose'
import type { Facts } from '../../engine/ports/store.ts'
import { type PemKey, parsePrivateKey, parsePublicKey } from './pem-key.ts'

/** A `kept` secret is generated at the first start and stored. */
export type Signing =
  | { readonly kind: 'secret'; readonly secret: string }
  | { readonly kind: 'private_key'; readonly pem: string }
  | { readonly kind: 'kept' }

/** A former key: its tokens remain valid, but no new ones are signed with it. */
export type PreviousKey =
  | { readonly kind: 'secret'; readonly secret: string }
  /** A public key, or a private one whose public half is used. */
  | { readonly kind: 'pem'; readonly pem: string }

export interface TokenKey {
  /** The `kid` of a token's header. */
  readonly id: string
  readonly alg: 'HS256' | 'RS256' | 'EdDSA'
  /** Imported once, because importing takes a third of the cost of verifying a token. */
  readonly verify: CryptoKey | KeyObject
  /** The public key for others; undefined for a secret. */
  readonly jwk: JWK | undefined
}

export interface KeyRing {
  readonly signing: TokenKey & { readonly sign: CryptoKey | KeyObject }
  readonly previous: readonly TokenKey[]
}

const FACT = 'jwt_secret'
const SECRET_BYTES = 32
const KEY_ID_CHARS = 16

export async function openKeyRing(
  settings: { readonly signing: Signing; readonly previousKeys: readonly PreviousKey[] },
  facts: Facts,
): Promise<KeyRing> {
  const signing = await signingKey(settings.signing, facts)
  const previous = await Promise.all(settings.previousKeys.map(verifyingKey))
  // A key that is listed twice is published once, so that ids are unique.
  const named = new Map(previous.filter(({ id }) => id !== signing.id).map((key) => [key.id, key]))
  return { signing, previous: [...named.values()] }
}

async function signingKey(signing: Signing, facts: Facts): Promise<KeyRing['signing']> {
  if (signing.kind === 'private_key') {
    const { alg, key } = requireKey(parsePrivateKey(signing.pem))
    // The settings accept a key in any PEM form; jose accepts these two.
    const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString()
    return { ...(await asymmetricKey({ alg, key: createPublicKey(key) })), sign: await importPKCS8(pem, alg) }
  }
  const key = await secretKey(await signingText(signing, facts))
  return { ...key, sign: key.verify }
}

/** A secret known only to this service, from which others are derived. */
export async function signingText(signing: Signing, facts: Facts): Promise<string> {
  if (signing.kind === 'kept') return storedSecret(facts)
  return signing.kind === 'secret' ? signing.secret : signing.pem
}

function verifyingKey(previous: PreviousKey): Promise<TokenKey> {
  return previous.kind === 'secret'
    ? secretKey(previous.secret)
    : asymmetricKey(requireKey(parsePublicKey(previous.pem)))
}

async function secretKey(secret: string): Promise<TokenKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const verify = await webcrypto.subtle.importKey('raw', Buffer.from(secret), algorithm, false, [
    'sign',
    'verify',
  ])
  const id = createHmac('sha256', secret).update('kid').digest('base64url').slice(0, KEY_ID_CHARS)
  return { id, alg: 'HS256', verify, jwk: undefined }
}

async function asymmetricKey({ alg, key }: PemKey): Promise<TokenKey> {
  const pem = key.export({ type: 'spki', format: 'pem' }).toString()
  const jwk = await exportJWK(key)
  const id = await calculateJwkThumbprint(jwk)
  return { id, alg, verify: await importSPKI(pem, alg), jwk: { ...jwk, use: 'sig', alg, kid: id } }
}

function requireKey(parsed: PemKey | undefined): PemKey {
  if (parsed === undefined) throw new Error('a key was accepted and cannot be read')
  return parsed
}

async function storedSecret(facts: Facts): Promise<string> {
  const stored = facts.getFact(FACT)
  if (stored !== undefined) return stored
  const generated = randomBytes(SECRET_BYTES).toString('base64url')
  await facts.putFact(FACT, generated)
  return generated
}
