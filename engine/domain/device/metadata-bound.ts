// The limit for a device's metadata. It is checked on the result of a patch, because small patches add up.
import { Buffer } from 'node:buffer'
import type { JsonObject } from '../../../schemas/json.ts'
import { LIMITS } from '../../limits.ts'

/** The detail of a refusal, undefined if the metadata is within the bound. */
export function metadataTooLarge(
  metadata: JsonObject,
): { readonly message: string; readonly limit: number; readonly actual: number } | undefined {
  const limit = LIMITS.metadataBytesMax
  const actual = Buffer.byteLength(JSON.stringify(metadata))
  if (actual <= limit) return undefined
  return { message: `metadata: at most ${limit} bytes, these would be ${actual}`, limit, actual }
}
