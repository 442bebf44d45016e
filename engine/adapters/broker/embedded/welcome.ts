// The CONNACK that accepts a device of MQTT 5.
import { LIMITS } from '../../../limits.ts'
import type { Connect } from './connect-fields.ts'
import { connackV5 } from './encode-v5.ts'

export function welcome({ keepAliveMs, bounds }: Connect, sessionPresent: boolean): Uint8Array {
  return connackV5({
    sessionPresent,
    receiveMax: LIMITS.sessionUnreleasedMax,
    packetBytesMax: LIMITS.packetBytesMax,
    topicAliasMax: LIMITS.topicAliasesMax,
    keepAliveSec: bounds?.isKeepAliveChanged === true ? keepAliveMs / 1000 : undefined,
  })
}
