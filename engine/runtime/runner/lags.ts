// How far a shard is behind the log: in entries, and for each partition as the age of its oldest entry that is not applied.
// An age begins when a measurement finds the partition behind, so it may be too short by the time between two measurements.
import type { Partition } from '../../../schemas/ids.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log, Positions } from '../../ports/log.ts'

export interface Lag {
  readonly partition: Partition
  readonly lagMs: number
}

export interface LagsPorts {
  readonly partitions: readonly Partition[]
  readonly log: Pick<Log, 'ends'>
  readonly clock: Pick<Clock, 'ticks'>
}

export class Lags {
  readonly #ports: LagsPorts
  /** The log's end when each partition was first seen behind, and the time of that measurement. */
  readonly #behind = new Map<Partition, { readonly at: number; readonly end: number }>()

  constructor(ports: LagsPorts) {
    this.#ports = ports
  }

  measure(applied: Positions): readonly Lag[] {
    const { partitions, log, clock } = this.#ports
    const [ends, at] = [log.ends(), clock.ticks()]
    return partitions.map((partition) => {
      const [end, reached] = [ends[partition] ?? 0, applied[partition] ?? 0]
      const behind = this.#behind.get(partition)
      if (reached >= end) this.#behind.delete(partition)
      else if (behind === undefined || reached >= behind.end) this.#behind.set(partition, { at, end })
      return { partition, lagMs: at - (this.#behind.get(partition)?.at ?? at) }
    })
  }

  entries(applied: Positions): number {
    const { partitions, log } = this.#ports
    const ends = log.ends()
    return partitions.reduce((sum, p) => sum + Math.max(0, (ends[p] ?? 0) - (applied[p] ?? 0)), 0)
  }
}
