// Authenticated encryption of stored texts. The key is derived from a secret that only the owner of the text presents, so
// the store can neither read a text nor change it unnoticed.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** `use` separates keys that are derived from the same secret. */
export function sealingKey(about: {
  readonly secret: string
  readonly id: string
  readonly use: string
}): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', about.secret, about.id, about.use, KEY_BYTES))
}

export function sealed(text: string, key: Uint8Array): Uint8Array {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce)
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

export function unsealed(bytes: Uint8Array, key: Uint8Array): string {
  const end = bytes.length - TAG_BYTES
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES))
  decipher.setAuthTag(bytes.subarray(end))
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, end)), decipher.final()]).toString()
}
