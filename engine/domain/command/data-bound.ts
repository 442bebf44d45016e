// The limit for the data of a command.
import { Buffer } from 'node:buffer'
import type { JsonObject } from '../../../schemas/json.ts'
import { LIMITS } from '../../limits.ts'

export function dataBytesOf(data: JsonObject): number {
  return Buffer.byteLength(JSON.stringify(data))
}

/** The detail of a refusal, undefined if the data is within the bound. */
export function dataTooLarge(
  actual: number,
): { readonly message: string; readonly limit: number; readonly actual: number } | undefined {
  const limit = LIMITS.commandDataBytesMax
  return actual <= limit ? undefined : { message: `data is ${actual} bytes, at most ${limit}`, limit, actual }
}
