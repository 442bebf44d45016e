// The CONNACK that accepts a device, in the device's version of MQTT.
import { LIMITS } from '../../../limits.ts'
import { CONNACK } from '../../../ports/broker.ts'
import type { Connect } from './connect-fields.ts'
import { connack } from './encode.ts'
import { connackV5 } from './encode-v5.ts'

export function acceptConnect({ keepAliveMs, v5Options }: Connect, sessionPresent: boolean): Uint8Array {
  if (v5Options === undefined) return connack(CONNACK.accepted, sessionPresent)
  return connackV5({
    sessionPresent,
    receiveMax: LIMITS.sessionUnreleasedMax,
    packetBytesMax: LIMITS.packetBytesMax,
    topicAliasMax: LIMITS.topicAliasesMax,
    keepAliveSec: v5Options.isKeepAliveChanged ? keepAliveMs / 1000 : undefined,
  })
}
