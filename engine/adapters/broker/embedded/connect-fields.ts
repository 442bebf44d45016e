// What a CONNECT says, in either version.
import type { Buffer } from 'node:buffer'
import type { Qos } from '../filters.ts'

export interface Connect {
  readonly clientId: string
  readonly username: string | undefined
  readonly password: Uint8Array | undefined
  readonly clean: boolean
  readonly keepAliveMs: number
  readonly will: RawWill | undefined
  /** What a device of MQTT 5 asks for. Undefined: it speaks MQTT 3.1 or 3.1.1. */
  readonly v5Options: V5Options | undefined
}

export interface RawWill {
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: Qos
  readonly retain: boolean
  /** Seconds from the end of the connection to the publication. If the device returns sooner, the will is not published. */
  readonly delaySec?: number
  /** Properties that are forwarded with the will, as bytes. */
  readonly forwarded?: Buffer | undefined
  /** Seconds from publication until the message expires. */
  readonly expirySec?: number | undefined
}

/** What a device of MQTT 5 asks of the broker. */
export interface V5Options {
  /** How many unacknowledged messages of QoS 1 and 2 the device accepts at a time. */
  readonly receiveMax: number
  readonly packetBytesMax: number
  /** False: reasons are told in CONNACK and DISCONNECT only. */
  readonly wantsReasons: boolean
  /** Seconds that the session outlives its connection; infinity for always. */
  readonly sessionExpirySec: number
  /** True if the broker set another keep-alive than the device asked for. */
  readonly isKeepAliveChanged: boolean
}

export type ParsedConnect =
  | { readonly kind: 'connect'; readonly connect: Connect }
  | { readonly kind: 'refused'; readonly reply: Uint8Array }
  | { readonly kind: 'malformed' }
