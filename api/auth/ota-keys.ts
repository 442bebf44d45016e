// The keys of firmware updates: one that binds download links, and those that sign manifests.
import { createPrivateKey, createPublicKey, generateKeyPairSync, hkdfSync, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, type JWK } from 'jose'
import type { Facts } from '../../engine/ports/store.ts'
import { type Signing, signingText } from './key-ring.ts'

export interface OtaKeys {
  readonly urlKey: Uint8Array
  /** Undefined if manifests are not signed. */
  readonly signing: { readonly kid: string; readonly key: KeyObject } | undefined
  /** The public keys for devices: the current signing key first, then former ones. */
  readonly jwks: readonly JWK[]
}

/** PEM of an Ed25519 key. A `kept` key is generated at the first start and stored. */
export type OtaSigning = { readonly kind: 'pem'; readonly pem: string } | { readonly kind: 'kept' | 'none' }

interface OtaKeySettings {
  readonly signing: Signing
  readonly ota: {
    readonly signing: OtaSigning
    /** PEM of public or private keys. */
    readonly previousKeys: readonly string[]
  }
}

const FACT = 'ota_signing_key'
const KEY_BYTES = 32

export async function openOtaKeys(settings: OtaKeySettings, facts: Facts): Promise<OtaKeys> {
  const pem = await signingPem(settings.ota.signing, facts)
  const key = pem === undefined ? undefined : createPrivateKey(pem)
  const publics = [
    ...(key === undefined ? [] : [createPublicKey(key)]),
    ...settings.ota.previousKeys.map((each) => createPublicKey(each)),
  ]
  const jwks = new Map<string, JWK>()
  for (const each of publics) {
    const jwk = await exportJWK(each)
    const kid = await calculateJwkThumbprint(jwk)
    jwks.set(kid, { ...jwk, use: 'sig', alg: 'EdDSA', kid })
  }
  const [kid] = jwks.keys()
  // Every node has the secret that signs tokens, so all nodes create and accept the same links.
  const secret = await signingText(settings.signing, facts)
  return {
    urlKey: new Uint8Array(hkdfSync('sha256', secret, '', 'fleet download links', KEY_BYTES)),
    signing: key === undefined || kid === undefined ? undefined : { kid, key },
    jwks: [...jwks.values()],
  }
}

async function signingPem(signing: OtaSigning, facts: Facts): Promise<string | undefined> {
  if (signing.kind === 'none') return undefined
  if (signing.kind === 'pem') return signing.pem
  const stored = facts.getFact(FACT)
  if (stored !== undefined) return stored
  const { privateKey } = generateKeyPairSync('ed25519')
  const generated = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  await facts.putFact(FACT, generated)
  return generated
}
