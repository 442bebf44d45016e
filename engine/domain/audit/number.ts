// Numbers of audit entries. Time in milliseconds and number identify an entry, whichever nodes wrote in that millisecond.
//
// - What a process writes by itself is numbered by the process, whose number no other has, and by a count.
// - What a request's shard writes is numbered by the request's place in the log, so that a replay numbers it alike.
// - The two never meet, and both are exact as numbers.
import type { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'

const COUNT = 2 ** 32
const WRITERS = 2 ** 20
const OF_PLACES = WRITERS * COUNT
/** Entries of one millisecond are no further apart than this. */
const SEQS = 2 ** 20
const INDEXES = 2 ** 16

export function numberOfWriter(writer: number, count: number): number {
  return (writer % WRITERS) * COUNT + (count % COUNT)
}

export function numberOfPlace(place: {
  readonly partition: Partition
  readonly seq: number
  /** The item's number within its bundle. */
  readonly index: number
}): number {
  const { partition, seq, index } = place
  return OF_PLACES + ((seq % SEQS) * LIMITS.partitions + partition) * INDEXES + index
}
