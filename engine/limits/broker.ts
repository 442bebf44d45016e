// MQTT: the embedded broker, and a broker outside with the ingress that reads it.
import { strict as assert } from 'node:assert'
import { KIB, MIB } from './sizes.ts'

export const BROKER_LIMITS = {
  // --- MQTT
  packetBytesMax: 256 * KIB + 4 * KIB,
  payloadBytesMax: 256 * KIB,
  /** Applies until CONNACK: a client may send nothing larger than a CONNECT before it is let in. */
  connectBytesMax: 8 * KIB,
  handshakeTimeoutMs: 5_000,
  /** A peer whose connection is over must take the last bytes within this time. */
  refusedSocketMsMax: 2_000,
  /** Pings, pongs and closes of one WebSocket. A client needs one every few seconds. */
  webSocketControlFramesPerSecMax: 100,
  keepAliveSecDefault: 60,
  keepAliveSecMax: 1_200,
  topicBytesMax: 512,
  topicLevelsMax: 16,
  subscriptionsPerSessionMax: 64,
  /** Messages of one session that are read but not yet durable. Its socket is not read while they are more. */
  sessionPendingMax: 1_024,
  sessionPendingBytesMax: 1 * MIB,
  /** Seconds of its publish rate that a device may use at once, such as what it kept while it was away. */
  publishBurstSec: 10,
  /** A message counts against the publish rate once for each of so many bytes. */
  publishBytesCounted: 16 * KIB,
  /** Bytes of messages of its own that are retained for one device. A message beyond it is not retained. */
  retainedBytesPerDeviceMax: 64 * KIB,
  /** Bytes that wait for a device's socket. A device that leaves more unread counts as frozen and is cut. */
  sessionOutBytesMax: 1 * MIB,
  /** QoS 2 messages received and not yet released by the device. */
  sessionUnreleasedMax: 100,
  /** Properties of one packet of MQTT 5. */
  propertiesMax: 64,
  /** Topics that a device of MQTT 5 may name by a number. */
  topicAliasesMax: 16,
  /** How often the sessions of MQTT 5 that wait for their device are looked at for those that have expired. */
  sessionExpiryEveryMs: 10_000,
  offlineQueueMax: 1_000,
  offlineQueueBytesMax: 1 * MIB,
  sessionsMax: 50_000,
  /** Connections that have not got their CONNACK yet. */
  handshakesMax: 20_000,
  /** How long a connection may wait for its CONNACK before it gives way to another one. */
  handshakeGivesWayMs: 1_000,
  /** QoS 1 and 2 messages that a device has not acknowledged. Further ones wait. */
  sessionUnackedMax: 16_384,
  /** Interval at which handshakes, keep-alives and expiries are checked: no connection has a timer of its own. */
  brokerSweepEveryMs: 250,
  /** Longest time that a session outlives its token, or the decommissioning of its device. */
  revocationMs: 1_000,

  /** Connections with provisioning keys, how long one lasts, and how often it may ask. */
  provisioningSessionsMax: 500,
  provisioningSessionMs: 60_000,
  provisioningAsksMax: 8,

  // --- a broker outside
  /** Sessions that the ingress nodes share: partition n is read by lane n % lanes. Fixed, because messages wait in
   *  these sessions. */
  lanes: 16,
  /** How long the broker keeps the messages of a lane that nobody reads. */
  laneSessionSec: 7_200,
  /** Messages of one lane that the broker has sent and we have not acknowledged. */
  laneReceiveMax: 2_048,
  lanePacketBytesMax: 300 * KIB,
  lanePingEveryMs: 1_000,
  laneSilenceMs: 15_000,
  /** A device that was heard without a known connect is forgotten after this much silence. */
  assumedSessionMs: 600_000,
  /** When the session of a device may be ended again because EMQX did not verify it. */
  expelledKeptMs: 600_000,
  /** EMQX is without authentication for 0.6 s at its start. */
  unverifiedSearchAfterMs: 1_500,
  /** How long a last will waits to learn why the session ended. */
  willWaitMs: 1_000,
  downlinksInFlightMax: 512,
  downlinksWaitingMax: 20_000,
  /** Connections that may be refused their first message before the refusal is believed. */
  downlinksRefusedMax: 5,
  downlinksWaitingBytesMax: 64 * MIB,
  emqxApiTimeoutMs: 5_000,
  emqxApiAtOnceMax: 8,
  emqxApiWaitingMax: 10_000,
  /** Clients that one call lists. */
  emqxApiPageMax: 1_000,
} as const

const LIMITS = BROKER_LIMITS
assert(LIMITS.payloadBytesMax < LIMITS.packetBytesMax, 'a full payload leaves room for its topic')
assert(LIMITS.connectBytesMax < LIMITS.packetBytesMax, 'the handshake is the tighter bound')
assert(LIMITS.sessionPendingBytesMax >= LIMITS.packetBytesMax, 'a session can hold its largest message')
assert(LIMITS.packetBytesMax < LIMITS.lanePacketBytesMax, 'a lane takes any message of a device')
assert(LIMITS.sessionUnackedMax + LIMITS.offlineQueueMax < 65_535, 'there is always a free packet id')
assert(LIMITS.handshakeGivesWayMs < LIMITS.handshakeTimeoutMs, 'a full room has somebody who gives way')
assert(LIMITS.brokerSweepEveryMs * 2 <= LIMITS.revocationMs, 'one late sweep still revokes in time')
assert(LIMITS.revocationMs < 2_000, 'a revoked session is cut within two seconds')
assert(LIMITS.lanePingEveryMs * 5 < LIMITS.laneSilenceMs, 'a late ping does not count as silence')
