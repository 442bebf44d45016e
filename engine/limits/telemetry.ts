// Limits for telemetry and history: the size of a report, blocks of rows, and ClickHouse (or chdb in its place).
import { strict as assert } from 'node:assert'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { KIB, MIB } from './sizes.ts'

export const TELEMETRY_LIMITS = {
  // --- telemetry
  telemetryFieldsMax: 1_000,
  telemetryDepthMax: 10,
  metricsPerDeviceMax: 2_000,
  telemetryReportsMax: 1_000,
  /** Texts and arrays up to this size are always kept in a snapshot. */
  shortTextBytesMax: 8 * KIB,
  /** Fields of one device that may hold a longer text or array, for example a laser scan. */
  longTextsPerDeviceMax: 16,
  /** Payload shapes that a shard remembers. */
  shapesMax: 512,
  /** Remembered shapes whose payloads start with the same key. */
  shapesPerKeyMax: 32,
  shapesPerDeviceMax: 8,
  shapeBytesMax: 4 * KIB,
  /** A device without a clock reports years like 1970 or 2000. Earlier times than this are replaced by the receive
   *  time. */
  timestampMin: Date.UTC(2001, 0, 1),
  timestampAheadMsMax: 600_000,
  /** Points in a block. A block becomes one insert and one part of the table. */
  blockRowsMax: 524_288,
  blockAgeMsMax: 500,
  /** Blocks encoded but not yet inserted. At this limit a shard waits and the log grows instead. */
  blocksWaitingMax: 8,
  /** How often a refused block is split in two to find the rows that ClickHouse refuses; the lower limit applies while no
   *  part is accepted. */
  refusedCutsMax: 512,
  refusedCutsInVainMax: 32,
  refusedDetailCharsMax: 500,
  checkpointEveryMs: 5_000,
  /** Devices in one query for the points of a group. */
  groupDevicesMax: 2_000,

  // --- history
  /** Outbox rows sent to ClickHouse together. */
  historyBatchRowsMax: 10_000,
  historyBlockBytesMax: 8 * MIB,
  historyDelayMs: 500,
  /** Rows in the store that wait for ClickHouse. Beyond this, the oldest are dropped. */
  outboxRowsMax: 500_000,
  outboxBytesMax: 512 * MIB,
  /** Kinds of refusals that anyone can cause, counted separately within one minute. */
  auditRefusalKindsMax: 1_000,
  /** Such kinds for one address. Further ones are only counted by action, code and address. */
  auditRefusalKindsPerAddressMax: 50,
  auditTextCharsMax: BODY_LIMITS.auditFilterCharsMax,
  logEntriesMax: 100,
  logMessageBytesMax: 16 * KIB,
  logLoggerBytesMax: 256,
  logFieldsBytesMax: 16 * KIB,
  logFieldsDepthMax: 10,

  // --- ClickHouse
  telemetryBodyBytesMax: 64 * MIB,
  telemetryResultBytesMax: 64 * MIB,
  telemetryQueriesAtOnceMax: 3,
  telemetryQueriesWaitingMax: 256,
  /** Files being streamed to callers, who may read slowly. */
  telemetryStreamsAtOnceMax: 4,
  /** A file's stream is cut if its reader takes nothing for this long. */
  telemetryStallSecMax: 60,
  telemetryStreamSecMax: 3_600,
  /** Points that one query may read: three quantiles over this many fit into the memory of a query. */
  telemetryRowsReadMax: 20_000_000,
  /** Rows that a search through the history of all devices may read per time window. */
  fleetHistoryRowsReadMax: 100_000_000,
  /** History rows read for the commands of one page. */
  commandStepsMax: 20_000,
  /** Size of a request to ClickHouse with its parameters, which ClickHouse itself limits. */
  telemetryUrlBytesMax: 1 * MIB,
  telemetryQueryMemoryBytesMax: 1024 * MIB,
  telemetryMemoryBytesMax: 2 * 1024 * MIB,
  /** An aggregation that needs more memory continues on disk. */
  telemetrySpillBytes: 256 * MIB,
  telemetryInsertTimeoutMs: 30_000,
  telemetryQueryTimeoutMs: 15_000,
  /** How often a running query checks that its server still answers. */
  telemetryLookEveryMs: 250,
  telemetrySettleTimeoutMs: 900_000,
  /** Time within which a node learns which hours other nodes have settled. Until then it reads those hours from raw
   *  points. */
  telemetryHorizonAgeMsMax: 60_000,
  /** Partitions whose devices are loaded together during a repair. */
  repairPartitionsAtOnce: 16,
  repairStopTimeoutMs: 500,
  /** Late marks of one device. When there are more, they are merged into one that spans them all. */
  lateMarksPerDeviceMax: 16,
  /** Late hours recomputed by one statement. */
  telemetryLateHoursMax: 1_000,
  /** Late hours that one query reads from raw points separately. */
  telemetryRawRangesMax: 64,

  // --- chdb
  keepAliveTimeoutMs: 72_000,
  /** How long to wait for a lock on the data directory, which another process may still hold for a moment. */
  chdbLockWaitMs: 15_000,
  chdbStartTimeoutMs: 60_000,
  chdbPingEveryMs: 1_000,
  /** A process that has not answered for this long counts as dead. */
  chdbSilenceMsMax: 20_000,
  chdbStopTimeoutMs: 2_000,
} as const

const LIMITS = TELEMETRY_LIMITS
assert(LIMITS.blockAgeMsMax < LIMITS.checkpointEveryMs, 'a checkpoint finds its rows inserted')
assert(LIMITS.historyBatchRowsMax < LIMITS.outboxRowsMax, 'the outbox is emptied in several steps')
assert(LIMITS.groupDevicesMax * 80 < LIMITS.telemetryUrlBytesMax, 'the ids of a whole group fit a request')
assert(LIMITS.telemetrySpillBytes < LIMITS.telemetryQueryMemoryBytesMax, 'an aggregation can go to disk')
assert(LIMITS.chdbPingEveryMs * 5 < LIMITS.chdbSilenceMsMax, 'one lost ping does not count as dead')
assert(LIMITS.chdbLockWaitMs < LIMITS.chdbStartTimeoutMs, 'a locked directory is told from a slow start')
