// How much metadata a device may have. Patches that are small add up: what counts is what they make together.
import { Buffer } from 'node:buffer'
import type { JsonObject } from '../../../schemas/json.ts'
import { LIMITS } from '../../limits.ts'

/** What a refusal says of metadata over the bound. */
export function metadataTooLarge(
  metadata: JsonObject,
): { readonly message: string; readonly limit: number; readonly actual: number } | undefined {
  const limit = LIMITS.metadataBytesMax
  const actual = Buffer.byteLength(JSON.stringify(metadata))
  if (actual <= limit) return undefined
  return { message: `metadata: at most ${limit} bytes, these would be ${actual}`, limit, actual }
}
