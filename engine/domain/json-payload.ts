// The JSON in the payload of a device's message.
import { Buffer, isUtf8 } from 'node:buffer'
import { type Json, parseJson } from '../../schemas/json.ts'

/** Undefined if the payload is not JSON in UTF-8, because a device may send any bytes. */
export function parseJsonPayload(payload: Uint8Array): Json | undefined {
  if (!isUtf8(payload)) return undefined
  return parseJson(Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('utf8'))
}
