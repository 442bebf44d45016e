import { isObject, type JsonObject } from '../../schemas/json.ts'

/** Returns the JSON object in an MQTT payload, undefined for anything else. */
export function parsePayload(bytes: Uint8Array): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
