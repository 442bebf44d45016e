// A short hash of a text, which tells apart the episodes of one device. It is not cryptographic.
import { Buffer } from 'node:buffer'

/** Sixteen hexadecimal digits. The same text must always give the same digits. */
export function shortHash(text: string): string {
  const bytes = Buffer.from(text)
  return half(bytes, 0x811c9dc5) + half(bytes, 0x2b5e1f97)
}

/** FNV-1a with a final mixing step. */
function half(bytes: Uint8Array, seed: number): string {
  let hash = seed
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0).toString(16).padStart(8, '0')
}
