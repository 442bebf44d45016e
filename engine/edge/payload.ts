import { isObject, type JsonObject, parseJson } from '../../schemas/json.ts'

/** Returns the JSON object in an MQTT payload, undefined for anything else. */
export function parsePayload(bytes: Uint8Array): JsonObject | undefined {
  const value = parseJson(Buffer.from(bytes).toString('utf8'))
  return isObject(value) ? value : undefined
}
