// Telemetry and history: what a report may hold, blocks of rows, and ClickHouse (or chdb, which stands in for it).
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
  /** Fields of one device that may hold a longer text or array, such as a scan. */
  longTextsPerDeviceMax: 16,
  /** Payload shapes that a shard remembers. */
  shapesMax: 512,
  /** Remembered shapes that begin with the same key. */
  shapesPerKeyMax: 32,
  shapesPerDeviceMax: 8,
  shapeBytesMax: 4 * KIB,
  /** A device without a clock reports 1970 or 2000. Such a time is replaced by the receive time. */
  timestampMin: Date.UTC(2001, 0, 1),
  timestampAheadMsMax: 600_000,
  /** Points in a block. A block is one insert, and one part of the table. */
  blockRowsMax: 524_288,
  blockAgeMsMax: 500,
  /** Blocks encoded but not yet inserted. A shard with more waits, and the log grows instead. */
  blocksWaitingMax: 8,
  /** How often a block that ClickHouse refuses is cut in two: to find what it refuses, and while it takes nothing of it. */
  refusedCutsMax: 512,
  refusedCutsInVainMax: 32,
  refusedDetailCharsMax: 500,
  checkpointEveryMs: 5_000,
  /** Devices in one question for the points of a group. */
  groupDevicesMax: 2_000,

  // --- history
  /** Rows of the outbox that are sent to ClickHouse together. */
  historyBatchRowsMax: 10_000,
  historyBlockBytesMax: 8 * MIB,
  historyDelayMs: 500,
  /** Rows that wait for ClickHouse in the store. The oldest are dropped when there are more. */
  outboxRowsMax: 500_000,
  outboxBytesMax: 512 * MIB,
  /** Kinds of refusals that anyone can cause, counted separately within a minute. */
  auditRefusalKindsMax: 1_000,
  /** Kinds of one address; further ones are counted by action, code and address. */
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
  /** Files being sent to callers, each of whom may take their time. */
  telemetryStreamsAtOnceMax: 4,
  /** A file is cut when its reader takes nothing for this long. */
  telemetryStallSecMax: 60,
  telemetryStreamSecMax: 3_600,
  /** Points that one question may touch: three quantiles of that many fit into a query's memory. */
  telemetryRowsReadMax: 20_000_000,
  /** Rows that one window of a search through the history of all devices may touch. */
  fleetHistoryRowsReadMax: 100_000_000,
  /** Rows of the commands of one page. */
  commandStepsMax: 20_000,
  /** A request to ClickHouse with its parameters. This is ClickHouse's own bound. */
  telemetryUrlBytesMax: 1 * MIB,
  telemetryQueryMemoryBytesMax: 1024 * MIB,
  telemetryMemoryBytesMax: 2 * 1024 * MIB,
  /** An aggregation that needs more continues on disk. */
  telemetrySpillBytes: 256 * MIB,
  telemetryInsertTimeoutMs: 30_000,
  telemetryQueryTimeoutMs: 15_000,
  /** How often a query that runs looks whether its server still answers. */
  telemetryLookEveryMs: 250,
  telemetrySettleTimeoutMs: 900_000,
  /** A node learns within this time what other nodes have settled. Until then it reads those hours from raw points. */
  telemetryHorizonAgeMsMax: 60_000,
  /** Partitions whose devices are loaded together for a repair. */
  repairPartitionsAtOnce: 16,
  repairStopTimeoutMs: 500,
  /** Marks of late hours that a device has at most; more become one that spans them all. */
  lateMarksPerDeviceMax: 16,
  /** Late hours that one statement recomputes. */
  telemetryLateHoursMax: 1_000,
  /** Late hours that one query reads from raw points separately. */
  telemetryRawRangesMax: 64,

  // --- chdb
  keepAliveTimeoutMs: 72_000,
  /** Another process may still hold the data directory for a moment. */
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
