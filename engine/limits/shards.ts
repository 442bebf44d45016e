// Limits for shards: their batches, the questions they answer, and their shutdown.
import { KIB } from './sizes.ts'

export const SHARD_LIMITS = {
  shardsMax: 64,
  /** Devices that one shard holds in memory. */
  devicesMax: 250_000,
  batchBytesMax: 512 * KIB,
  /** Records that one batch should save at most: some milliseconds of work for the thread that acknowledges messages. */
  batchRecordsMax: 1_024,
  asksPerBatchMax: 256,
  asksWaitingMax: 10_000,
  sweepEveryMs: 250,
  /** Devices that a sweep processes before other work has its turn. Each may produce an alert notice, which takes 50 to
   *  100 µs. */
  dueDevicesPerTaskMax: 128,
  /** Samples over which rates are computed, one per sweep. */
  paceLooksMax: 40,
  /** Latest inserts from which the 99th percentile is computed. */
  paceInsertsMax: 500,
  /** How far back a new owner repeats decisions that may not have been sent. */
  takeOverMs: 3_600_000,
  /** Devices that a new owner sends to at each sweep, so that a failover does not delay other work. */
  takeOverPerSweep: 1_000,
  /** How long a shutdown waits for shards to finish the log and store their rows. The next start does the rest. */
  shardStopTimeoutMs: 2_500,
  attemptsMax: 5,
  /** A batch takes milliseconds, so a thread that has been busy for this long is assumed to hang and is replaced. */
  taskTimeoutMs: 30_000,
  /** Requests waiting for their device's answer. */
  repliesWaitingMax: 10_000,
  /** Notices waiting for the leader. It takes thousands a second, so the queue only fills in a cluster without a
   *  leader. */
  noticesMax: 50_000,
} as const
