// The seam between sessions and their broker: what sessions share, what one is made from, and how the broker sees one.
import type { DeviceId, Micros, Millis } from '../../../../schemas/ids.ts'
import type {
  DeviceSession,
  EndCause,
  SessionGrant,
  UplinkHost,
  UplinkMessage,
} from '../../../ports/broker.ts'
import type { Will } from './connect.ts'
import type { V5Options } from './connect-fields.ts'
import type { Peer } from './peer.ts'
import type { Allowance } from './publish-limit.ts'
import type { ExplainedReason } from './reasons.ts'
import type { RetainedMessages } from './retained-messages.ts'
import type { Message, SessionState } from './session-state.ts'

export interface SessionHub {
  readonly host: UplinkHost
  readonly retained: RetainedMessages
  /** One object, refilled for every message (incoming I2). */
  readonly message: { -readonly [Key in keyof UplinkMessage]: UplinkMessage[Key] }
  readonly publishes: [number, number, number]
  bytesIn: number
  refusedTopics: number
  cutFrozen: number
  shedQos0: number
  /** Monotonic milliseconds at the last sweep. */
  tick: number
  now(): Millis
  /** See `Broker.publish`. */
  publish(deviceId: DeviceId, message: Message): Promise<boolean>
  liveSession(deviceId: DeviceId): LiveSession | undefined
  paused(session: LiveSession): void
  /** Tells the broker that paused sessions may be able to read again. */
  resumePaused(): void
  ended(session: LiveSession): void
  /** Sends a peer its last bytes and closes the connection. */
  closeWith(peer: Peer, lastBytes: Uint8Array): void
  /** Holds a will back while its device may still return. */
  delayWill(session: LiveSession, delaySec: number): void
}

export interface LiveSession extends DeviceSession {
  readonly maySubscribe: boolean
  readonly state: SessionState
  readonly isEnded: boolean
  readonly isPaused: boolean
  /** What a device of MQTT 5 asked for; undefined for MQTT 3.1.1. */
  readonly v5Options: V5Options | undefined
  /** Messages handed over and not yet durable. */
  readonly pending: number
  send(bytes: Uint8Array): void
  /** See `Broker.publish`. Undefined if this session has never had a subscription. */
  publish(message: Message): Promise<boolean> | undefined
  /** Ends the session if its token or keep-alive has run out. `asleepMs`: time that the whole process slept. */
  sweep(ticks: number, now: number, asleepMs: number): void
  /** Continues reading, unless too much is still waiting. */
  resume(): void
  /** Drops the will, and messages that would be retained or echoed once durable. */
  forget(): void
  /** Publishes the will that was held back. */
  publishWill(): void
  /** `explained`: what to tell a device of MQTT 5 if the cause alone does not say enough. */
  end(cause: EndCause, explained?: ExplainedReason): void
  /** Ends a session whose device does not read. */
  endFrozen(): void
}

export interface SessionFacts
  extends Pick<SessionGrant, 'deviceId' | 'partition' | 'mayPublish' | 'maySubscribe' | 'tokenSec'> {
  readonly number: Micros
  readonly ip: string
  readonly expiresAt: number
  readonly keepAliveMs: number
  readonly will: Will | undefined
  readonly state: SessionState
  readonly v5Options: V5Options | undefined
  /** Undefined if there is no publish rate. */
  readonly allowance: Allowance | undefined
}
