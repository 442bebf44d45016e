// Which message a shard is working on, in memory that outlives its thread: when a thread has died, the host can read what
// it was doing.
import { Partition } from '../../../schemas/ids.ts'
import type { Entry } from '../../ports/log.ts'

/** Shared between a shard's thread, which writes, and its host, which reads once the thread is gone. */
export type Progress = Float64Array<SharedArrayBuffer>

export interface Suspect {
  readonly partition: Partition
  readonly seq: number
  /** Number of the message within its entry. */
  readonly index: number
}

const PARTITION = 0
const SEQ = 1
const INDEX = 2
const NOWHERE = -1

export function newProgress(): Progress {
  return new Float64Array(new SharedArrayBuffer(3 * Float64Array.BYTES_PER_ELEMENT)).fill(NOWHERE)
}

export function enterEntry(progress: Progress, { partition, seq }: Entry): void {
  progress[PARTITION] = partition
  progress[SEQ] = seq
}

/** Notes that the entry's message with this index is about to be applied. */
export function begin(progress: Progress, index: number): void {
  progress[INDEX] = index
}

/** Notes that no message is being worked on. */
export function clearProgress(progress: Progress): void {
  progress[PARTITION] = NOWHERE
}

export function suspectOf(progress: Progress): Suspect | undefined {
  const [partition = NOWHERE, seq = 0, index = 0] = progress
  return partition === NOWHERE ? undefined : { partition: Partition(partition), seq, index }
}
