// The broker holds the MQTT connections of devices. It acknowledges only what the host reports as durable (R1).
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
  /** When the session is closed at the latest. */
  readonly expiresAt: Millis
  /** Lifetime of the token; undefined for a certificate alone. */
  readonly tokenSec?: number | undefined
}

/** A peer that is not a registered device yet: it may only ask for its registration. */
export interface ProvisioningGrant {
  readonly kind: 'provisioning'
  /** The id that the peer asks for. */
  readonly deviceId: DeviceId
  /** Answers a message on `provision/get` with the payload to send and the topic suffix to send it to. */
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
  /** The unique receive time of its CONNECT. Later sessions have greater numbers. */
  readonly number: Micros
  /** The session was already open when the broker first learned of it, so `number` is a time at which it existed. */
  readonly isAssumed?: boolean
  readonly ip: string
  /** Lifetime of the token that the device connected with, if it is known. */
  readonly tokenSec?: number | undefined
  /** When its token was issued. Missing if the broker refuses revoked tokens itself. */
  readonly issuedAt?: Millis | undefined
  /** The device id as bytes, ready to be copied into a bundle. */
  readonly idBytes: Uint8Array
  /** True while the device is subscribed to its own topic with this suffix. */
  takes(suffix: string): boolean
  /** Acknowledges the oldest `count` messages handed to `uplink`, in order: they are durable. */
  durable(count: number): void
}

export interface UplinkMessage {
  /** The topic after `fleet/{device_id}/`. */
  readonly suffix: string
  /** Only valid during the call, because the bytes are not copied. */
  readonly payload: Uint8Array
  readonly qos: 0 | 1 | 2
  readonly retain: boolean
  /** True for a last will, which the broker publishes for a device that is gone. */
  readonly will: boolean
  /** The id that a broker outside gave the message, 16 bytes; undefined if it cannot arrive twice. */
  readonly origin?: Uint8Array | undefined
  /** The broker has sent the message before and does not know whether it arrived. */
  readonly isDup?: boolean
}

export interface RefusedMessage {
  /** The whole topic. */
  readonly topic: string
  readonly payload: Uint8Array
}

export interface MessageFault {
  /** `topic`: no messages are accepted there. `payload`: it cannot be read. */
  readonly kind: 'topic' | 'payload'
  readonly text: string
}

/** The engine as the broker sees it. */
export interface UplinkHost {
  admit(attempt: ConnectAttempt): Promise<Admission>
  /** A unique time for a new session, increasing. */
  sessionNumber(): Micros
  /** Called before CONNACK and before the session's messages. */
  opened(session: DeviceSession): void
  /** The topics that the session is subscribed to may have changed. Always called after `opened`, and immediately if the
   *  session is resumed with its subscriptions. */
  subscribed(session: DeviceSession): void
  /** Hands over one message of an open session, in the order sent. Each call is answered by `session.durable` eventually,
   *  in order and counted across all QoS levels. The bytes are copied before it returns. */
  uplink(session: DeviceSession, message: UplinkMessage): void
  /** The device acknowledged a command, or another message with this `request_id`, on this topic. Called by brokers whose
   *  `publish` cannot tell. */
  delivered(session: DeviceSession, suffix: string, requestId: string): void
  /** Answered by one `session.durable(1)` once everything handed over so far is durable. */
  sync(session: DeviceSession): void
  /** The session continues, but from now on another process receives its messages. */
  left(session: DeviceSession): void
  /** Called after the session's last message, including its will unless the session was taken over. */
  closed(session: DeviceSession, cause: EndCause): void
  /** The session asked for a topic that is not its own, or that its token does not grant. `message` is what it tried to
   *  publish, and is only valid during the call. */
  refused(session: DeviceSession, wanted: 'publish' | 'subscribe', message?: RefusedMessage): void
  /** The broker itself refused a CONNECT, so `admit` was not asked. The reason is a sentence for the audit. */
  rejected?(attempt: { readonly clientId: string; readonly ip: string }, reason: string): void
  /** Returns what is wrong with a device's message as far as the message alone shows it, or undefined. Used by brokers
   *  that can report it in the acknowledgement. The message is handed over in any case. */
  judge?(suffix: string, payload: Uint8Array): MessageFault | undefined
  /** How many devices send over this connection: a gateway counts itself and its sub-devices. One if not implemented. */
  sendersOf?(session: DeviceSession): number
  /** The session's credentials expire soon. Called once per session. */
  expiring?(session: DeviceSession, expiresAt: Millis): void
  /** Everything that devices of these partitions sent before `at` has been handed over. A broker outside this process
   *  reports this about once a second, as far as it can tell. Without it, no device counts as silent. */
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
  /** The message must not be delivered after this time. */
  readonly expiresAt?: Millis
  /** The device is expected to answer. MQTT 5 tells it the topic of the answer and its correlation data. */
  readonly request?: RequestFacts | undefined
}

export interface RequestFacts {
  /** The topic for answers, after `fleet/{device_id}/`. */
  readonly suffix: string
  readonly correlation: string
}

/** The topic of commands. */
export const COMMAND_SUFFIX = 'command'

/** The topic of messages about firmware. */
export const OTA_SUFFIX = 'ota'

/** Commands and messages about firmware expire: they reach the session that is live now, or nobody. The broker neither
 *  keeps them for a device that is away nor sends them again. The same holds for the sub-devices of a gateway. */
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
  /** QoS 0 messages dropped because their device exceeded its publish rate. */
  readonly shedQos0: number
  /** Undefined for a broker in this process. */
  readonly outside?: OutsideCounts
}

export interface OutsideCounts {
  /** Lanes (shared sessions) that this process reads uplinks from. */
  readonly lanesOwned: number
  readonly lanesOpen: number
  /** Messages read from the lanes and not acknowledged yet. */
  readonly unacknowledged: number
  /** How often the broker had lost a lane's session together with its waiting messages. */
  readonly lostSessions: number
  readonly downlinksWaiting: number
  readonly downlinksDropped: number
  /** Waiting calls to the broker's API: cutting off devices, and questions about sessions. */
  readonly callsWaiting: number
  readonly callsDropped: number
}

export interface Listener {
  readonly scheme: 'mqtt' | 'mqtts' | 'wss'
  readonly host: string
  readonly port: number
}

export interface Broker {
  /** Resolves with the listeners once connections are accepted; devices are told the first one. Throws
   *  `Fault('PORT_IN_USE')` if a port is taken. */
  listen(host: UplinkHost): Promise<readonly [Listener, ...Listener[]]>
  /** Resolves `true` once the device acknowledged the message (QoS 1 and 2) or it was written (QoS 0), and `false` if no
   *  live session takes it. In either case a retained message is kept, and so is one for a persistent session that is
   *  away, unless it `isLive`. */
  publish(downlink: Downlink): Promise<boolean>
  /** Publishes on `fleet/$group/<group>/<suffix>` for observers in the cloud; devices may not subscribe there. A broker
   *  without such observers does nothing. */
  publishToGroup(group: string, message: Pick<Downlink, 'suffix' | 'payload' | 'qos'>): void
  /** Ends the device's live sessions, forgets its persistent session and clears its retained topics. */
  cut(deviceId: DeviceId, cause: EndCause): void
  /** Resolves once the id may be given to another device. Completes what `cut` began. */
  free(deviceId: DeviceId): Promise<void>
  /** Ends the device's live sessions because their credentials are void. Its persistent session and retained messages
   *  stay. */
  end(deviceId: DeviceId): void
  isConnected(deviceId: DeviceId): boolean
  counts(): BrokerCounts
  close(): Promise<void>
}

/** Reads the lanes: the sessions in which a broker outside keeps messages of devices until a process reads them. Only one
 *  process reads a lane at a time. A lane is named by its first partition. */
export interface LaneReader {
  gained(lanes: readonly { readonly partition: Partition }[]): void
  /** Stops reading immediately, because another process may already read these lanes. */
  lost(lanes: readonly Partition[]): void
  /** Stops reading, and resolves once everything read so far is acknowledged. */
  handOver(lanes: readonly Partition[]): Promise<void>
}
