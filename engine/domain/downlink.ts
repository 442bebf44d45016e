// A message to a device, ready to be sent: what a shadow or a command has to say.
import { Buffer } from 'node:buffer'
import type { JsonObject } from '../../schemas/json.ts'

/** To `fleet/{device_id}/<suffix>`. */
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
