// Limits for the ingress, and for the log in files or in a JetStream stream.
import { strict as assert } from 'node:assert'
import { KIB, MIB } from './sizes.ts'

export const LOG_LIMITS = {
  /** Part of the data format: another number would move devices to other places in the log. */
  partitions: 64,

  // --- ingress
  /** Bytes accepted from all sessions but not yet durable. At this limit no socket is read. */
  ingestPendingBytesMax: 64 * MIB,
  /**
   * How long after an append the next one waits for more messages. Each append to the log in NATS wakes every engine and
   * costs all of them together a millisecond of CPU, however small it is. Messages from a broker outside wait longer,
   * because the broker has already acknowledged them. Reports and log lines, which need no answer, wait longest. Requests
   * that somebody waits for do not wait.
   */
  gatherMs: 3,
  gatherOutsideMs: 10,
  gatherReportsMs: 25,
  /** An append of this size does not wait for more. */
  gatherBytesMax: 64 * KIB,
  bundleBytesMax: 1 * MIB,
  commitBytesMax: 8 * MIB,
  /** An append that takes longer counts as failing, and nothing more is accepted until it ends. */
  appendStalledMs: 5_000,
  /** How long a shutdown waits for an append that hangs. */
  ingestStopTimeoutMs: 900,

  // --- the log in files
  /** The newest entries, kept in memory for readers that are nearly caught up. Older ones are read from disk. */
  logTailBytesMax: 32 * MIB,
  logBytesMax: 16 * 1024 * MIB,
  logRetentionMs: 3_600_000,
  /** Approximate size of a log file; smaller on a small disk. Files are removed as a whole. */
  logSegmentBytes: 256 * MIB,
  /** Disk space that the log leaves for records and ClickHouse; less on a small disk. */
  logDiskReserveBytes: 256 * MIB,
  /** Disk space that records always leave free. */
  diskReserveBytes: 4 * MIB,

  // --- the log in NATS
  natsPingEveryMs: 2_000,
  natsTimeoutMs: 5_000,
  natsStartTimeoutMs: 15_000,
  /** A publish repeated within this time is stored once. After it, the stream is searched before the publish is
   *  repeated. */
  natsDuplicateWindowMs: 600_000,
  /** Bytes that a reader has fetched and not yet passed on. */
  natsReaderBytesMax: 2 * MIB,
  /** Messages in flight to a reader. A message is one append. */
  natsReaderMessagesMax: 16,
  /** A consumer that is silent for twice this long is recreated. */
  natsHeartbeatMs: 1_000,
  /** Interval at which a reader asks how far the log reaches. */
  logLookEveryMs: 250,
  /** How long the answer is trusted. */
  logLookTrustedMs: 1_000,
  /** A stream that is shorter than before for this long has lost messages. */
  logBehindMs: 1_000,
  /** A partition without entries gets a new position after this many appends to other partitions. */
  logMarkEvery: 4_096,
  logTrimEveryMs: 10_000,
} as const

const LIMITS = LOG_LIMITS
assert(LIMITS.gatherMs <= LIMITS.gatherOutsideMs, 'what somebody waits for goes first')
assert(LIMITS.gatherOutsideMs <= LIMITS.gatherReportsMs, 'what is answered goes before what is not')
assert(LIMITS.gatherBytesMax < LIMITS.commitBytesMax, 'a full append does not wait')
assert(LIMITS.bundleBytesMax <= LIMITS.commitBytesMax, 'any one bundle fits a commit')
assert(LIMITS.commitBytesMax < LIMITS.ingestPendingBytesMax, 'a commit is collected while one is written')
assert(LIMITS.logSegmentBytes * 4 <= LIMITS.logBytesMax, 'removing a file leaves most of the log')
assert(LIMITS.diskReserveBytes < LIMITS.logDiskReserveBytes, 'records are written when the log is full')
assert(LIMITS.logLookEveryMs * 2 < LIMITS.logLookTrustedMs, 'one late look does not make a reader doubt')
assert(LIMITS.natsTimeoutMs * 10 < LIMITS.natsDuplicateWindowMs, 'a publish can be repeated safely')
