// The reported state of a simulated device, which applies every desired state.
import { isObject, type JsonObject } from '../../../../schemas/json.ts'

const KEYS_MAX = 64
const INTERVAL_SEC_DEFAULT = 1
const INTERVAL_SEC_MAX = 3_600

export function createReported(firmwareVersion: string, intervalSec = INTERVAL_SEC_DEFAULT): JsonObject {
  return { report_interval_sec: intervalSec, firmware_version: firmwareVersion }
}

/** `publish` is the complete state, with null for each removed key. It must be complete because the topic is retained:
 *  a partial state would replace the rest. */
export function applyDesired(
  reported: JsonObject,
  message: JsonObject,
): { readonly reported: JsonObject; readonly publish: JsonObject } | undefined {
  const { state } = message
  if (!isObject(state) || Object.keys(state).length === 0) return undefined
  const publish = { ...reported, ...state }
  if (Object.keys(publish).length > KEYS_MAX) return undefined
  return {
    publish,
    reported: Object.fromEntries(Object.entries(publish).filter(([, value]) => value !== null)),
  }
}

export function reportIntervalMs({ report_interval_sec: wanted }: JsonObject): number {
  const isUsable = typeof wanted === 'number' && wanted > 0 && wanted <= INTERVAL_SEC_MAX
  return (isUsable ? wanted : INTERVAL_SEC_DEFAULT) * 1_000
}
