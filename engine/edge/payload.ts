import { type JsonObject, parseJsonObject } from '../../schemas/json.ts'

/** Returns the JSON object in an MQTT payload, undefined for anything else. */
export function parsePayload(bytes: Uint8Array): JsonObject | undefined {
  return parseJsonObject(Buffer.from(bytes).toString('utf8'))
}
