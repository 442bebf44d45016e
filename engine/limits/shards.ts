// Shards: their batches, the questions they answer, and how they stop.
import { KIB } from './sizes.ts'

export const SHARD_LIMITS = {
  shardsMax: 64,
  /** Devices that one shard holds in memory. */
  devicesMax: 250_000,
  batchBytesMax: 512 * KIB,
  asksPerBatchMax: 256,
  asksWaitingMax: 10_000,
  sweepEveryMs: 250,
  /** How long shards get at a stop to finish the log and store their rows. The next start does the rest. */
  shardStopTimeoutMs: 2_500,
  attemptsMax: 5,
  /** A batch takes milliseconds, so a thread that is busy for this long hangs and is replaced. */
  taskTimeoutMs: 30_000,
  /** Requests that wait for their device's answer. */
  repliesWaitingMax: 10_000,
} as const
