// Shards: their batches, the questions they answer, and how they stop.
import { KIB } from './sizes.ts'

export const SHARD_LIMITS = {
  shardsMax: 64,
  /** Devices that one shard holds in memory. */
  devicesMax: 250_000,
  batchBytesMax: 512 * KIB,
  /** Records that a batch's save should write at most: some milliseconds of the thread that acknowledges messages. */
  batchRecordsMax: 1_024,
  asksPerBatchMax: 256,
  asksWaitingMax: 10_000,
  sweepEveryMs: 250,
  /** Devices that a sweep judges before other work has its turn. Each may tell of an alert, which takes 50 to 100 µs. */
  dueDevicesPerTaskMax: 128,
  /** Looks over which rates are taken, one at each sweep. */
  paceLooksMax: 40,
  /** Inserts of which the slowest are told. */
  paceInsertsMax: 500,
  /** A new owner says again what was decided within this time and may not have been said. */
  takeOverMs: 3_600_000,
  /** Devices that it speaks to at each sweep: a failover must not keep everybody else waiting. */
  takeOverPerSweep: 1_000,
  /** How long shards get at a stop to finish the log and store their rows. The next start does the rest. */
  shardStopTimeoutMs: 2_500,
  attemptsMax: 5,
  /** A batch takes milliseconds, so a thread that is busy for this long hangs and is replaced. */
  taskTimeoutMs: 30_000,
  /** Requests that wait for their device's answer. */
  repliesWaitingMax: 10_000,
  /** Waiting for the leader. It takes thousands a second, so only a cluster without a leader fills the queue. */
  noticesMax: 50_000,
} as const
