// The key that signs the manifests in the firmware messages of the kit.
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import type { JsonObject } from '../../../../schemas/json.ts'

export interface ManifestKey {
  /** The public key as a JSON Web Key, in the form in which the service publishes its own. */
  readonly publicKey: JsonObject
  /** Returns the claims as a compact JWS. */
  sign(claims: JsonObject): string
}

export function newManifestKey(): ManifestKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const kid = randomUUID()
  const part = (value: JsonObject) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const { kty = 'OKP', crv = 'Ed25519', x = '' } = publicKey.export({ format: 'jwk' })
  return {
    publicKey: { kid, kty, crv, x, alg: 'EdDSA', use: 'sig' },
    sign: (claims) => {
      const signed = `${part({ alg: 'EdDSA', kid })}.${part(claims)}`
      return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`
    },
  }
}
