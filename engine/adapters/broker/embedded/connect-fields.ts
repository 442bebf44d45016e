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
  readonly bounds: DeviceBounds | undefined
}

export interface RawWill {
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: Qos
  readonly retain: boolean
  /** Seconds after the end of the connection. The device may be back by then, and then it is not published. */
  readonly delaySec?: number
  /** Properties that go on with it, as bytes. */
  readonly forwarded?: Buffer | undefined
  /** Seconds from its publication after which it is not delivered any more. */
  readonly expirySec?: number | undefined
}

/** What a device of MQTT 5 asks of the broker. */
export interface DeviceBounds {
  /** Messages of QoS 1 and 2 that it takes before it has acknowledged others. */
  readonly receiveMax: number
  readonly packetBytesMax: number
  /** False: reasons are told in CONNACK and DISCONNECT only. */
  readonly wantsReasons: boolean
  /** Seconds that its session outlives its connection; infinity for always. */
  readonly sessionExpirySec: number
  /** True if the keep-alive that it asked for is not the one that it gets. */
  readonly isKeepAliveChanged: boolean
}

export type ParsedConnect =
  | { readonly kind: 'connect'; readonly connect: Connect }
  | { readonly kind: 'refused'; readonly reply: Uint8Array }
  | { readonly kind: 'malformed' }
