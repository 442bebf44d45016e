// Limits for MQTT: the embedded broker, and a broker outside with the ingress that reads from it.
import { strict as assert } from 'node:assert'
import { MQTT_LIMITS } from '../../schemas/mqtt-limits.ts'
import { KIB, MIB } from './sizes.ts'

export const BROKER_LIMITS = {
  // --- MQTT
  ...MQTT_LIMITS,
  packetBytesMax: MQTT_LIMITS.payloadBytesMax + 4 * KIB,
  /** Largest packet before CONNACK: a client that is not admitted yet needs to send nothing larger than a CONNECT. */
  connectBytesMax: 8 * KIB,
  handshakeTimeoutMs: 5_000,
  /** How long a peer may take to receive the last bytes after its connection ended. */
  refusedSocketMsMax: 2_000,
  /** Pings, pongs and closes of one WebSocket. A client needs one every few seconds. */
  webSocketControlFramesPerSecMax: 100,
  keepAliveSecDefault: 60,
  keepAliveSecMax: 1_200,
  subscriptionsPerSessionMax: 64,
  /** Messages of one session that are read but not yet durable. At this limit its socket is not read. */
  sessionPendingMax: 1_024,
  sessionPendingBytesMax: 1 * MIB,
  /** How many seconds' worth of its publish rate a device may use at once, such as what it buffered while it was away. */
  publishBurstSec: 10,
  /** A message counts against the publish rate once for every started multiple of this size. */
  publishBytesCounted: 16 * KIB,
  /** Bytes of retained messages that one device has published. Messages beyond this limit are not retained. */
  retainedBytesPerDeviceMax: 64 * KIB,
  /** Bytes waiting to be sent to one device. A device that leaves more unread counts as frozen and is cut. */
  sessionOutBytesMax: 1 * MIB,
  /** QoS 2 messages received and not yet released by the device. */
  sessionUnreleasedMax: 100,
  /** Properties in one MQTT 5 packet. */
  propertiesMax: 64,
  /** Topic aliases of an MQTT 5 device. */
  topicAliasesMax: 16,
  /** How often MQTT 5 sessions without a connection are checked for expiry. */
  sessionExpiryEveryMs: 10_000,
  offlineQueueMax: 1_000,
  offlineQueueBytesMax: 1 * MIB,
  sessionsMax: 50_000,
  /** Connections still waiting for their CONNACK. */
  handshakesMax: 20_000,
  /** How long a connection may wait for its CONNACK before it can be displaced by a new one. */
  handshakeGivesWayMs: 1_000,
  /** QoS 1 and 2 messages in flight to a device. Further ones wait. */
  sessionUnackedMax: 16_384,
  /** Interval at which handshakes, keep-alives and expiries are checked. Connections have no timers of their own. */
  brokerSweepEveryMs: 250,
  /** How long a session may outlive its token or the decommissioning of its device. */
  revocationMs: 1_000,

  /** Connections with provisioning keys: their number, how long one lasts, and how often it may ask. */
  provisioningSessionsMax: 500,
  provisioningSessionMs: 60_000,
  provisioningAsksMax: 8,

  // --- a broker outside
  /** Sessions that the ingress nodes share. Partition n is read by lane n % lanes. Must not change, because messages wait
   *  in these sessions. */
  lanes: 16,
  /** How long the broker keeps the messages of a lane that nobody reads. */
  laneSessionSec: 7_200,
  /** Messages of one lane in flight: sent by the broker and not yet acknowledged. */
  laneReceiveMax: 2_048,
  lanePacketBytesMax: 300 * KIB,
  lanePingEveryMs: 1_000,
  laneSilenceMs: 15_000,
  /** A device whose connect was not observed is forgotten after this much silence. */
  assumedSessionMs: 600_000,
  /** Interval after which a session that EMQX did not verify may be ended once more. */
  expelledKeptMs: 600_000,
  /** Delay before the search for unverified sessions: for 0.6 s after its start, EMQX does not authenticate. */
  unverifiedSearchAfterMs: 1_500,
  /** How long a last will is held back to learn why the session ended. */
  willWaitMs: 1_000,
  downlinksInFlightMax: 512,
  downlinksWaitingMax: 20_000,
  /** Connections whose first message is refused before the refusal is taken as final. */
  downlinksRefusedMax: 5,
  downlinksWaitingBytesMax: 64 * MIB,
  emqxApiTimeoutMs: 5_000,
  emqxApiAtOnceMax: 8,
  emqxApiWaitingMax: 10_000,
  /** Clients listed by one API call. */
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
