// The ingress, and the log in files or in a JetStream stream.
import { strict as assert } from 'node:assert'
import { KIB, MIB } from './sizes.ts'

export const LOG_LIMITS = {
  /** Part of the data: changing it would move every device to another place in the log. */
  partitions: 64,

  // --- ingress
  /** Messages of all sessions that are accepted but not yet durable. No socket is read while they are more. */
  ingestPendingBytesMax: 64 * MIB,
  /**
   * How long after an append the next one waits for more to come. Each append to the log in NATS wakes every engine and costs
   * all of them together a millisecond of CPU, however small it is. So behind a broker outside, which has acknowledged its
   * messages already, they wait longer, and reports and log lines, to which nothing is answered, wait longest. What somebody
   * waits for does not.
   */
  gatherMs: 3,
  gatherOutsideMs: 10,
  gatherReportsMs: 25,
  /** An append of so much does not wait for more. */
  gatherBytesMax: 64 * KIB,
  bundleBytesMax: 1 * MIB,
  commitBytesMax: 8 * MIB,
  /** An append that takes longer counts as failing, and nothing more is accepted until it ends. */
  appendStalledMs: 5_000,
  /** How long a stop waits for an append that hangs. */
  ingestStopTimeoutMs: 900,

  // --- the log in files
  /** Newest entries, kept in memory for readers that are nearly caught up. Older ones are read from disk. */
  logTailBytesMax: 32 * MIB,
  logBytesMax: 16 * 1024 * MIB,
  logRetentionMs: 3_600_000,
  /** Approximate size of a file of the log, on a small disk less. Files are removed whole. */
  logSegmentBytes: 256 * MIB,
  /** Space that the log leaves free for records and ClickHouse, on a small disk less. */
  logDiskReserveBytes: 256 * MIB,
  /** Space that records always leave free on the disk. */
  diskReserveBytes: 4 * MIB,

  // --- the log in NATS
  natsPingEveryMs: 2_000,
  natsTimeoutMs: 5_000,
  natsStartTimeoutMs: 15_000,
  /** A publish repeated within this time is stored once. Later, the stream is searched before it is repeated. */
  natsDuplicateWindowMs: 600_000,
  /** Bytes that a reader has fetched and not yet handed on. */
  natsReaderBytesMax: 2 * MIB,
  /** Appends on their way to a reader. */
  natsReaderMessagesMax: 16,
  /** A consumer that is silent for twice as long is made again. */
  natsHeartbeatMs: 1_000,
  /** Interval at which a reader learns how far the log reaches. */
  logLookEveryMs: 250,
  /** How long a reader trusts what it learned. */
  logLookTrustedMs: 1_000,
  /** A stream that stays behind what it had for as long has lost messages. */
  logBehindMs: 1_000,
  /** Appends without an entry of a partition after which the partition's position moves past them. */
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
