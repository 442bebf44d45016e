// A message to a device, ready to be sent.
import { Buffer } from 'node:buffer'
import type { JsonObject } from '../../schemas/json.ts'

/** A message for `fleet/{device_id}/<suffix>`. */
export interface DownlinkMessage {
  readonly suffix: string
  readonly payload: Uint8Array
  readonly qos: 0 | 1 | 2
  readonly retain: boolean
}

export function toDownlink(
  suffix: string,
  body: JsonObject,
  { qos = 1, retain = false }: { readonly qos?: 0 | 1 | 2; readonly retain?: boolean } = {},
): DownlinkMessage {
  return { suffix, payload: Buffer.from(JSON.stringify(body)), qos, retain }
}
