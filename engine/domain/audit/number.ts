// Numbers audit entries. An entry is identified by its time in milliseconds and this number, even if several nodes write
// within the same millisecond.
//
// - An entry of a process has the process's own number and a count.
// - An entry of a shard has the number of the request's place in the log, so a replay gives it the same number.
// - The two ranges do not overlap, and all numbers are below 2^53.
import type { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'

const COUNT = 2 ** 32
const WRITERS = 2 ** 20
const FIRST_OF_PLACES = WRITERS * COUNT
/** The log gets fewer entries than this within a millisecond, so the remainder of `seq` is enough. */
const SEQS = 2 ** 20
const INDEXES = 2 ** 16

export function numberOfWriter(writer: number, count: number): number {
  return (writer % WRITERS) * COUNT + (count % COUNT)
}

export function numberOfPlace(place: {
  readonly partition: Partition
  readonly seq: number
  /** The index of the item within its bundle. */
  readonly index: number
}): number {
  const { partition, seq, index } = place
  return FIRST_OF_PLACES + ((seq % SEQS) * LIMITS.partitions + partition) * INDEXES + index
}
