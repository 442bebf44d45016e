// Every bound of the engine (R9), with its unit in its name. What is over a limit gets a clear error or is
// parked with its reason; the relations between limits are asserted at the end.
import { strict as assert } from 'node:assert'
import { BODY_LIMITS } from '../schemas/body-limits.ts'
import { CLUSTER_LIMITS } from './cluster-limits.ts'

const KIB = 1024
const MIB = 1024 * KIB

export const LIMITS = {
  ...BODY_LIMITS,
  ...CLUSTER_LIMITS,

  /** Fixed with the data: the partition of a device is part of where its past is stored. */
  partitions: 64,

  // --- MQTT
  packetBytesMax: 256 * KIB + 4 * KIB,
  payloadBytesMax: 256 * KIB,
  /** Before CONNACK nobody may send more than a CONNECT. */
  connectBytesMax: 8 * KIB,
  handshakeTimeoutMs: 5_000,
  keepAliveDefaultSec: 60,
  keepAliveMaxSec: 1_200,
  topicBytesMax: 512,
  topicLevelsMax: 16,
  subscriptionsPerSessionMax: 64,
  /** Messages and bytes of one session that are read but not yet durable; beyond, its socket is not read. */
  sessionPendingMax: 1_024,
  sessionPendingBytesMax: 1 * MIB,
  /** Bytes waiting in a device's socket; beyond, the subscriber counts as frozen and is cut. */
  sessionOutBytesMax: 1 * MIB,
  /** QoS 2 messages received and not yet released by the device. */
  sessionUnreleasedMax: 100,
  offlineQueueMax: 1_000,
  offlineQueueBytesMax: 1 * MIB,
  sessionsMax: 50_000,
  /** Sockets that have not yet got their CONNACK. */
  handshakesMax: 20_000,
  /** QoS 1 and 2 messages sent to a device that it has not acknowledged; beyond, it is cut. */
  sessionUnackedMax: 16_384,
  /** Handshakes, keep-alives and expiries are looked at this often; no connection has a timer. */
  brokerSweepEveryMs: 250,
  subscriberDrainTimeoutMs: 2_000,
  /** A live session outlives its token, or its device's decommissioning, by at most this. */
  revocationMs: 1_000,

  // --- a broker outside
  /** Sessions on it that the ingress shares out; a partition's lane is its remainder. Fixed: what waits is in them. */
  lanes: 16,
  /** What waits for a lane that nobody reads is kept so long. */
  laneSessionSec: 7_200,
  /** Sent by the broker and not yet acknowledged, of one lane. */
  laneReceiveMax: 2_048,
  lanePacketBytesMax: 300 * KIB,
  lanePingEveryMs: 1_000,
  laneSilenceMs: 15_000,
  mqttReconnectMs: 250,
  mqttReconnectMaxMs: 5_000,
  /** Who was heard of without a connect, and says nothing for so long, is forgotten. */
  assumedSessionMs: 600_000,
  /** A last will waits so long for the reason of the end. */
  willWaitMs: 1_000,
  downlinksInFlightMax: 512,
  downlinksWaitingMax: 20_000,
  downlinksWaitingBytesMax: 64 * MIB,
  emqxApiTimeoutMs: 5_000,
  emqxApiAtOnceMax: 8,
  emqxApiWaitingMax: 10_000,

  // --- ingress and log
  /** Device messages accepted and not yet durable, over all sessions; beyond, sockets are not read. */
  ingestPendingBytesMax: 64 * MIB,
  bundleBytesMax: 1 * MIB,
  commitBytesMax: 8 * MIB,
  /** An append that takes so long counts as failing: nothing new is promised behind it. */
  appendStalledMs: 5_000,
  /** A stop waits so long for an append that hangs. */
  ingestStopTimeoutMs: 900,
  /** Entries kept in memory for readers that are nearly caught up; older ones are read from disk. */
  logTailBytesMax: 32 * MIB,
  logBytesMax: 16 * 1024 * MIB,
  logRetentionMs: 3_600_000,
  /** The log lies in files of about this size; settled ones are removed as a whole. */
  logSegmentBytes: 256 * MIB,
  /** Records and log are not written when less than this would be left on the disk. */
  diskReserveBytes: 4 * MIB,

  // --- shards
  shardsMax: 64,
  devicesMax: 250_000,
  batchBytesMax: 512 * KIB,
  asksPerBatchMax: 256,
  asksWaitingMax: 10_000,
  sweepEveryMs: 250,
  /** What shards get at a stop to work off the log and store their rows; the next start does the rest. */
  shardStopTimeoutMs: 2_500,
  attemptsMax: 5,
  /** A batch takes milliseconds: a thread that is at one for so long hangs, and is replaced. */
  taskTimeoutMs: 30_000,
  /** Requests that wait for their device's answer. */
  repliesWaitingMax: 10_000,

  // --- telemetry
  telemetryFieldsMax: 1_000,
  telemetryDepthMax: 10,
  metricsPerDeviceMax: 2_000,
  telemetryReportsMax: 1_000,
  /** Longer texts and arrays, such as a scan, are kept of so many fields of a device. */
  shortTextBytesMax: 8 * KIB,
  longTextsPerDeviceMax: 16,
  /** Payload shapes a shard keeps in mind: in all, with the same first key, and of one device. */
  shapesMax: 512,
  shapesPerKeyMax: 32,
  shapesPerDeviceMax: 8,
  shapeBytesMax: 4 * KIB,
  /** A device without a clock says 1970 or 2000; such a time is not taken, the receive time is. */
  timestampMin: Date.UTC(2001, 0, 1),
  timestampAheadMaxMs: 600_000,
  /** Points; a block is one insert, and one part of the table. */
  blockRowsMax: 524_288,
  blockAgeMaxMs: 500,
  /** Rows encoded and not yet inserted: the shard waits beyond (the log keeps growing instead). */
  blocksWaitingMax: 8,
  checkpointEveryMs: 5_000,
  /** Of one series. */
  bucketsMax: 11_000,
  seriesMax: 10,
  /** Of all series of an answer. */
  bucketsPerAnswerMax: 110_000,
  /** Of one file of points. */
  fileMetricsMax: 100,
  /** Whose points are taken together. */
  groupDevicesMax: 2_000,

  // --- history
  /** Rows of the outbox that go to ClickHouse together. */
  historyBatchRowsMax: 10_000,
  historyBlockBytesMax: 8 * MIB,
  historyDelayMs: 500,
  /** Rows that wait for ClickHouse in the store: beyond, the oldest are given up. */
  outboxRowsMax: 500_000,
  outboxBytesMax: 512 * MIB,
  /** Refusals told apart within a minute, of those that anyone can cause. */
  auditRefusalKindsMax: 1_000,
  auditTextCharsMax: BODY_LIMITS.auditFilterCharsMax,
  auditFieldsMax: 50,
  logEntriesMax: 100,
  logMessageBytesMax: 16 * KIB,
  logLoggerBytesMax: 256,
  logFieldsBytesMax: 16 * KIB,
  logFieldsDepthMax: 10,

  // --- ClickHouse and the process that stands in for it
  telemetryBodyBytesMax: 64 * MIB,
  telemetryStatementBytesMax: 1 * MIB,
  telemetryResultBytesMax: 64 * MIB,
  telemetryQueriesAtOnceMax: 3,
  telemetryQueriesWaitingMax: 256,
  /** Rows of results on their way to whoever asked for a file; each may take its time. */
  telemetryStreamsAtOnceMax: 4,
  /** A file whose reader takes nothing for so long is cut. */
  telemetryStallMaxSec: 60,
  telemetryStreamMaxSec: 3_600,
  /** Points that one question may touch: three quantiles of that many fit into a query's memory. */
  telemetryRowsReadMax: 20_000_000,
  /** Of a request to ClickHouse, its parameters included; ClickHouse's own bound. */
  telemetryUrlBytesMax: 1 * MIB,
  telemetryQueryMemoryBytesMax: 1024 * MIB,
  telemetryMemoryBytesMax: 2 * 1024 * MIB,
  /** An aggregation that needs more than this goes on on disk. */
  telemetrySpillBytes: 256 * MIB,
  telemetryInsertTimeoutMs: 30_000,
  telemetryQueryTimeoutMs: 15_000,
  telemetrySettleTimeoutMs: 900_000,
  /** What other nodes have settled since is read from raw until then. */
  telemetryHorizonAgeMaxMs: 60_000,
  /** Devices of so many partitions are loaded for a repair at a time. */
  repairPartitionsAtOnce: 16,
  repairStopTimeoutMs: 500,
  /** Late hours recomputed by one statement, and read from raw one by one in a query. */
  telemetryLateHoursMax: 1_000,
  telemetryRawRangesMax: 64,
  /** Another process may still hold the data directory for a moment. */
  chdbLockWaitMs: 15_000,
  chdbStartTimeoutMs: 60_000,
  chdbPingEveryMs: 1_000,
  /** Not answering for so long counts as dead. */
  chdbSilenceMaxMs: 20_000,
  chdbStopTimeoutMs: 2_000,
  chdbRestartDelayMaxMs: 5_000,

  // --- devices
  /** Connections of a device, and times that the broker sent their messages again, that are kept to know a repetition. */
  originsPerDeviceMax: 4,
  /** A device flaps with so many connects in mind; each is forgotten a while after the one before it. */
  flappingConnectsMin: 5,
  connectCountedMs: 60_000,
  /** Beyond, more of them make no difference: it ends soon after the last one. */
  connectsCountedMax: 10,
  deadLettersMax: 10_000,
  deadLetterPayloadBytesMax: 4 * KIB,

  /** Of one gateway: each is told of its connections, and it of each one's shadow. */
  subDevicesMax: 1_000,

  // --- commands, of one device
  commandsOpenMax: 1_000,
  commandsOpenBytesMax: 4 * MIB,
  /** Finished ones kept in the record; expired ones, while a late result counts, have a bound of their own. */
  commandsKeptMax: 16,
  commandsLateMax: 128,
  commandLateMs: 86_400_000,
  /** For so long a repeated idempotency key finds what it did. */
  idempotencyKeyMs: 86_400_000,
  commandAttemptsMax: 5,
  /** Without its PUBACK after this long, a command is sent again. */
  commandRetryMs: 10_000,
  /** Sent and without a PUBACK; the critical ones are counted by themselves. */
  commandsInFlightMax: 8,
  commandResultBytesMax: 64 * KIB,
  commandConflictsMax: 8,
  commandTextCharsMax: 1_024,
  broadcastSkippedMax: 1_000,
  broadcastPerSecDefault: 2_000,
  /** The newest ones are kept. */
  broadcastsKeptMax: 256,
  /** Callers that wait for a command to end. */
  commandWaitsMax: 10_000,

  // --- device types
  deviceTypeBytesMax: 1 * MIB,
  deviceTypesMax: 256,
  deviceTypeEntriesMax: 1_000,
  deviceTypeProblemsMax: 20,

  // --- REST and /ws
  bodyBytesMax: 1 * MIB,
  bodyDepthMax: 32,
  bulkBytesMax: 16 * MIB,
  bulkRowCharsMax: 64 * KIB,
  bulkRowsMax: BODY_LIMITS.bulkRowsMax,
  /** Bulk registrations at the same time, and registrations of one of them. */
  bulksAtOnceMax: 2,
  bulkRegistrationsAtOnceMax: 64,
  socketsMax: 1_000,
  subscriptionsPerSocketMax: 100,
  frameInBytesMax: 32 * KIB,
  socketOutBytesMax: 64 * KIB,
  authTimeoutMs: 10_000,
  /** Sent to a socket of /ws and not yet taken by its client's kernel; beyond, the client counts as slow. */
  socketInFlightBytesMax: 1 * MIB,
  /** A slow client that takes nothing for so long is cut. */
  socketFrozenMs: 15_000,
  /** Two pings in a row without an answer end a socket. */
  socketPingEverySec: 30,
  /** What a closing socket gets to take its last frame. */
  socketLingerMs: 2_000,
  /** Frames of one socket read and not yet acted upon. */
  framesWaitingMax: 256,
  badFramesMax: 20,
  /** Events kept for slow or throttled subscriptions: of one socket, and of all together. */
  heldBytesPerSocketMax: 16 * MIB,
  heldBytesMax: 128 * MIB,
  /** Log lines or timeline entries kept for a slow subscription; the oldest make room. */
  heldEntriesMax: 1_000,
  snapshotDevicesMax: 1_000,
  /** The newest ones of a device's log or timeline. */
  snapshotEntriesMax: 100,
  snapshotBytesMax: 2 * MIB,
  /** A snapshot may show what is still being saved: for so long after it, events it shows are left out. */
  snapshotGuardMs: 5_000,
  tokenWarningMs: 60_000,
  hashesAtOnceMax: 2,
  hashesWaitingMax: 64,
  usersMax: 50_000,
  apiKeysMax: 1_000,
  /** Refresh tokens of one user that are kept; the longest unused goes first. */
  grantsPerUserMax: 1_000,
  /** Of one login, those that were replaced: a use of one of them is known for theft. */
  replacedGrantsMax: 100,
  /** Wrong logins of one address for one e-mail. */
  loginsPerMinuteMax: 10,
  accessTokenSec: 3_600,
  /** Tickets for /ws that were not shown yet: how long they are good, and how many there may be. */
  ticketMs: 30_000,
  ticketsPerUserMax: 32,
  ticketsMax: 4_096,
  /** Longer ones are refused unread. */
  tokenCharsMax: 4_096,
  verifiedTokensMax: 10_000,
  refreshAbsoluteMs: 30 * 86_400_000,
  refreshIdleMs: 7 * 86_400_000,
  /** A refresh token's last use is written down at most this often. */
  refreshTouchMs: 60_000,
  /** A renewal may be repeated for so long after its refresh token was replaced. */
  refreshLeewayMs: 10_000,
  /** Clocks of servers differ by less. */
  clockLeewayMs: 30_000,
  /** An API key's last use is written down at most this often. */
  apiKeyTouchMs: 60_000,
  /** Former keys that tokens may still be signed with. */
  previousKeysMax: 8,
  /** For the whole request to arrive. */
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
  /** Requests under way when the service stops are given this long. */
  drainTimeoutMs: 2_500,
  retryAfterSec: 2,
  /** Callers whose rate is kept in mind. */
  rateKeysMax: 100_000,
  /** Answers to requests with an idempotency key; beyond, such a key is not taken. */
  keptAnswersMax: 100_000,
  keptAnswersBytesMax: 256 * MIB,
  keptAnswersRetrySec: 600,
  /** Whoever began to make an answer and says nothing for so long has died: the request may be sent again. */
  answerBegunMs: 120_000,
  validationErrorsMax: 20,
  /** Bodies above this are told their first mistake only. */
  explainBytesMax: 16 * KIB,
} as const

assert(LIMITS.payloadBytesMax < LIMITS.packetBytesMax, 'a full payload needs room for its topic')
assert(LIMITS.packetBytesMax < LIMITS.bundleBytesMax, 'any one message fits a bundle')
assert(LIMITS.bundleBytesMax <= LIMITS.commitBytesMax, 'any one bundle fits a commit')
assert(
  LIMITS.meshMessageBytesMax <= LIMITS.commitBytesMax,
  'a server that takes an append takes what nodes say to each other',
)
assert(LIMITS.commandWaitsMax < LIMITS.meshQuestionsMax, 'waits for commands keep no question out')
assert(LIMITS.devicesMax * 256 <= LIMITS.meshAnswerBytesMax, 'every device of a broadcast fits an answer')
assert(LIMITS.logSegmentBytes * 4 <= LIMITS.logBytesMax, 'removing one file of the log is not all or nothing')
assert(LIMITS.commitBytesMax < LIMITS.ingestPendingBytesMax, 'a commit can be collected while one is written')
assert(LIMITS.sessionPendingBytesMax < LIMITS.ingestPendingBytesMax, 'one session cannot use up the ingress')
assert(LIMITS.sessionPendingBytesMax >= LIMITS.packetBytesMax, 'a session can hold its largest message')
assert(LIMITS.partitions % LIMITS.lanes === 0, 'lanes have as many partitions as each other')
assert(LIMITS.lanePingEveryMs * 5 < LIMITS.laneSilenceMs, 'a ping that is late is no silence')
assert(LIMITS.packetBytesMax < LIMITS.lanePacketBytesMax, 'a lane takes any message of a device')
assert(LIMITS.connectBytesMax < LIMITS.packetBytesMax, 'the handshake is the tighter bound')
assert(
  LIMITS.brokerSweepEveryMs * 2 <= LIMITS.revocationMs,
  'a sweep may be late by one and still be in time',
)
assert(LIMITS.sessionUnackedMax + LIMITS.offlineQueueMax < 65_535, 'there is always a free packet id')
assert(LIMITS.revocationMs < 2_000, 'a revoked session is cut within two seconds')
assert(LIMITS.socketOutBytesMax <= LIMITS.socketInFlightBytesMax, 'the tunnel holds what a socket may')
assert(LIMITS.snapshotBytesMax < LIMITS.heldBytesPerSocketMax, 'a socket can wait with one snapshot')
assert(
  LIMITS.commandsInFlightMax * LIMITS.commandDataBytesMax < LIMITS.sessionOutBytesMax,
  'a full window of commands does not make a device look frozen',
)
assert(LIMITS.commandDataBytesMax <= LIMITS.commandsOpenBytesMax, 'any one command fits the queue')
assert(LIMITS.shadowSideBytesMax * 3 < LIMITS.payloadBytesMax, 'a whole shadow fits a message')
assert(LIMITS.blockAgeMaxMs < LIMITS.checkpointEveryMs, 'a checkpoint finds its rows inserted')
assert(
  LIMITS.historyBlockBytesMax + LIMITS.bundleBytesMax * 4 < LIMITS.telemetryBodyBytesMax,
  'a block of history is taken, however its last batch turned out',
)
assert(LIMITS.historyBatchRowsMax < LIMITS.outboxRowsMax, 'the outbox is emptied in several steps')
assert(LIMITS.seriesMax * LIMITS.bucketsMax <= LIMITS.bucketsPerAnswerMax, 'all series may be full')
assert(
  LIMITS.groupDevicesMax * 80 < LIMITS.telemetryUrlBytesMax,
  'any ids of that many devices fit a request',
)
assert(LIMITS.repairStopTimeoutMs <= LIMITS.drainTimeoutMs, 'a repair ends while REST does')
assert(LIMITS.partitions % LIMITS.repairPartitionsAtOnce === 0, 'a repair comes by every partition')
assert(LIMITS.chdbPingEveryMs * 5 < LIMITS.chdbSilenceMaxMs, 'one lost ping does not count as dead')
assert(LIMITS.chdbLockWaitMs < LIMITS.chdbStartTimeoutMs, 'a locked directory is told from a slow start')
assert(LIMITS.telemetrySpillBytes < LIMITS.telemetryQueryMemoryBytesMax, 'an aggregation can go on on disk')
assert(LIMITS.flappingConnectsMin < LIMITS.connectsCountedMax, 'a device can flap')
assert(
  LIMITS.requestTimeoutMs + 2 * LIMITS.clockLeewayMs < LIMITS.answerBegunMs,
  'no node takes a request that still arrives at another one for dead',
)
assert(LIMITS.refreshTouchMs < LIMITS.refreshIdleMs, 'a used refresh token never counts as idle')
assert(
  LIMITS.socketLingerMs +
    LIMITS.drainTimeoutMs +
    LIMITS.ingestStopTimeoutMs +
    LIMITS.shardStopTimeoutMs +
    LIMITS.chdbStopTimeoutMs <
    10_000,
  'a stop takes less than ten seconds, whatever hangs',
)
assert(
  LIMITS.meshStopTimeoutMs + LIMITS.lanesStopTimeoutMs < LIMITS.chdbStopTimeoutMs,
  'so does one without chdb and with other nodes',
)
