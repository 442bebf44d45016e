// The broker: devices' MQTT connections. It acknowledges what the host says is durable, and nothing else (R1).
import type { DeviceId, Micros, Millis, Partition } from '../../schemas/ids.ts'
import { parseSubSuffix } from '../../schemas/topics.ts'

/** MQTT 3.1.1 CONNACK return codes. */
export const CONNACK = {
  accepted: 0,
  protocol: 1,
  identifier: 2,
  unavailable: 3,
  credentials: 4,
  unauthorized: 5,
} as const
export type ConnackCode = (typeof CONNACK)[keyof typeof CONNACK]

/** A certificate that the peer showed in the TLS handshake, proving that it has the key. */
export interface PeerCertificate {
  readonly commonName: string
  /** Why the certificate is not accepted, such as `has expired`. */
  readonly fault: string | undefined
  readonly expiresAt: Millis
}

export interface ConnectAttempt {
  readonly clientId: string
  readonly username: string | undefined
  readonly password: Uint8Array | undefined
  readonly certificate?: PeerCertificate | undefined
  readonly ip: string
}

/** An admitted device and its rights. */
export interface SessionGrant {
  readonly kind: 'admitted'
  readonly deviceId: DeviceId
  readonly partition: Partition
  readonly mayPublish: boolean
  readonly maySubscribe: boolean
  /** Time at which the session is cut. */
  readonly expiresAt: Millis
  /** Lifetime of the token; undefined for a certificate alone. */
  readonly tokenSec?: number | undefined
}

/** A peer that is no device yet: it may ask for its registration, and nothing else. */
export interface ProvisioningGrant {
  readonly kind: 'provisioning'
  /** The id that it wants. */
  readonly deviceId: DeviceId
  /** Answers a message on `provision/get`: with a suffix, and the payload that is sent there. */
  ask(payload: Uint8Array): Promise<{ readonly suffix: string; readonly payload: Uint8Array }>
}

/** Why a CONNECT is refused. The reason is a sentence that the peer may read. */
export interface Refusal {
  readonly code: ConnackCode
  readonly reason: string
}

export type Admission = SessionGrant | ProvisioningGrant | ({ readonly kind: 'denied' } & Refusal)

/** Why a session ended. `takeover`: the same device connected again. */
export type EndCause =
  | 'disconnect'
  | 'lost'
  | 'keepalive'
  | 'takeover'
  | 'expired'
  | 'revoked'
  | 'abuse'
  | 'shutdown'

/** One admitted connection, as the host sees it. */
export interface DeviceSession {
  readonly deviceId: DeviceId
  readonly partition: Partition
  /** The receive time of its CONNECT, unique: later sessions have greater numbers. */
  readonly number: Micros
  /** It was under way when the broker was first heard of it: `number` is a time at which it was. */
  readonly isAssumed?: boolean
  readonly ip: string
  /** Lifetime of the token that the device connected with, if it is known. */
  readonly tokenSec?: number | undefined
  /** When its token was issued. Left out by a broker that refuses revoked tokens itself. */
  readonly issuedAt?: Millis | undefined
  /** The device id as bytes, ready to be copied into a bundle. */
  readonly idBytes: Uint8Array
  /** True while it is subscribed to this of its own topics. */
  takes(suffix: string): boolean
  /** The oldest `count` messages handed to `uplink` are durable: acknowledge them, in order. */
  durable(count: number): void
}

export interface UplinkMessage {
  /** The topic after `fleet/{device_id}/`. */
  readonly suffix: string
  /** A view that is only valid during the call. */
  readonly payload: Uint8Array
  readonly qos: 0 | 1 | 2
  readonly retain: boolean
  /** True for a last will: the broker speaks for a device that is gone. */
  readonly will: boolean
  /** The id that a broker outside gave the message, 16 bytes; undefined if it cannot arrive twice. */
  readonly origin?: Uint8Array | undefined
  /** The broker has sent it before, and does not know whether it came. */
  readonly isDup?: boolean
}

export interface RefusedMessage {
  /** The whole topic. */
  readonly topic: string
  readonly payload: Uint8Array
}

export interface MessageFault {
  /** `topic`: nothing takes messages there. `payload`: it cannot be read. */
  readonly kind: 'topic' | 'payload'
  readonly text: string
}

/** The engine as the broker sees it. */
export interface UplinkHost {
  admit(attempt: ConnectAttempt): Promise<Admission>
  /** A unique time for a new session, increasing. */
  sessionNumber(): Micros
  /** Before CONNACK. The session's messages follow. */
  opened(session: DeviceSession): void
  /** The session may take more topics than before. Always called after `opened`, and at once if the session brings its
   *  subscriptions along. */
  subscribed(session: DeviceSession): void
  /** One message of an open session, in the order sent; every call is answered by `session.durable` one day,
   *  in order and counted over calls of any QoS. The bytes are copied before it returns. */
  uplink(session: DeviceSession, message: UplinkMessage): void
  /** The device acknowledged what it was sent there, a command or another message with this `request_id`. For a broker
   *  whose `publish` cannot tell. */
  delivered(session: DeviceSession, suffix: string, requestId: string): void
  /** Answered by one `session.durable(1)` once everything handed over so far is durable. */
  sync(session: DeviceSession): void
  /** The session goes on, and another process hears of it from now on. */
  left(session: DeviceSession): void
  /** After the session's last message (its will included, unless it was taken over). */
  closed(session: DeviceSession, cause: EndCause): void
  /** The session asked for a topic that is not its own, or that its token does not grant. `message`: what it wanted to
   *  publish there, a view that is only valid during the call. */
  refused(session: DeviceSession, wanted: 'publish' | 'subscribe', message?: RefusedMessage): void
  /** What is wrong with a message of the device, as far as the message alone shows it; undefined if nothing is. Asked by
   *  a broker that can tell the device so in its acknowledgement. The message is handed over in any case. */
  judge?(suffix: string, payload: Uint8Array): MessageFault | undefined
  /** How many devices send by this connection: a gateway's sub-devices, and itself. One if nothing is said. */
  sendersOf?(session: DeviceSession): number
  /** The credentials of the session end soon. Said once. */
  expiring?(session: DeviceSession, expiresAt: Millis): void
  /** All that devices of these partitions had said by then was handed over. A broker that is not part of this process
   *  says so every second or so, as far as it can tell: without it nobody is called silent. */
  heard(partitions: readonly Partition[], at: Millis): void
  /** True while nothing more should be read from devices; asked after every read. */
  isCongested(): boolean
}

export interface Downlink {
  readonly deviceId: DeviceId
  readonly suffix: string
  readonly payload: Uint8Array
  readonly qos: 0 | 1 | 2
  readonly retain: boolean
  /** Nobody should be given it later. */
  readonly expiresAt?: Millis
  /** The device is expected to answer. MQTT 5 tells it where, and what the answer is told by. */
  readonly request?: RequestFacts | undefined
}

export interface RequestFacts {
  /** The topic of answers after `fleet/{device_id}/`. */
  readonly suffix: string
  readonly correlation: string
}

/** The topic of commands. */
export const COMMAND_SUFFIX = 'command'

/** The topic of messages about firmware. */
export const OTA_SUFFIX = 'ota'

/** Commands and messages about firmware expire: what is sent there reaches the session that is live now, or nobody. It
 *  is neither kept for a device that is away nor sent again by the broker. So it is for a gateway's sub-devices. */
export function isLive(suffix: string): boolean {
  const own = parseSubSuffix(suffix)?.suffix ?? suffix
  return own === COMMAND_SUFFIX || own === OTA_SUFFIX
}

export interface BrokerCounts {
  readonly connected: number
  readonly admitted: number
  readonly denied: number
  readonly publishes: readonly [number, number, number]
  readonly refusedTopics: number
  readonly bytesIn: number
  readonly cutFrozen: number
  /** Dropped because their device was over its publish rate. */
  readonly shedQos0: number
  /** Undefined for a broker in this process. */
  readonly outside?: OutsideCounts
}

export interface OutsideCounts {
  /** Sessions that this process reads uplinks from. */
  readonly lanesOwned: number
  readonly lanesOpen: number
  /** Read from them, and not acknowledged. */
  readonly unacknowledged: number
  /** Times that the broker had forgotten one of them, and what waited in it. */
  readonly lostSessions: number
  readonly downlinksWaiting: number
  readonly downlinksDropped: number
  /** Calls of the broker's API: devices to be cut off, and questions about sessions. */
  readonly callsWaiting: number
  readonly callsDropped: number
}

export interface Listener {
  readonly scheme: 'mqtt' | 'mqtts' | 'wss'
  readonly host: string
  readonly port: number
}

export interface Broker {
  /** Resolves once connections are accepted; devices are told the first of them. Throws `Fault('PORT_IN_USE')` when a
   *  port is taken. */
  listen(host: UplinkHost): Promise<readonly [Listener, ...Listener[]]>
  /** Resolves `true` once the device itself acknowledged it (QoS 1 and 2) or it was written (QoS 0);
   *  `false` when no live session takes it. A retained message is kept in either case, and one for a persistent
   *  session that is away, unless it `isLive`. */
  publish(downlink: Downlink): Promise<boolean>
  /** Publishes on `fleet/$group/<group>/<suffix>` for observers in the cloud; devices may not subscribe there. A broker
   *  without such observers does nothing. */
  publishToGroup(group: string, message: Pick<Downlink, 'suffix' | 'payload' | 'qos'>): void
  /** Ends the device's live sessions, forgets its persistent session and clears its retained topics. */
  cut(deviceId: DeviceId, cause: EndCause): void
  /** Resolves once the id may be another device's. Follows what a `cut` has begun. */
  free(deviceId: DeviceId): Promise<void>
  /** Ends the device's live sessions because their credentials are void, and keeps what is kept for the device. */
  end(deviceId: DeviceId): void
  isConnected(deviceId: DeviceId): boolean
  counts(): BrokerCounts
  close(): Promise<void>
}

/** Reads the lanes in which a broker outside keeps messages of devices until a process takes them. One process reads a
 *  lane at a time; a lane is named by its first partition. */
export interface LaneReader {
  gained(lanes: readonly { readonly partition: Partition }[]): void
  /** Stops reading at once: another process may read them already. */
  lost(lanes: readonly Partition[]): void
  /** Resolves once all that was read is acknowledged, and nothing more is read. */
  handOver(lanes: readonly Partition[]): Promise<void>
}
