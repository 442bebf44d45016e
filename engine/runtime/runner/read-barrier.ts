// How far an incarnation of a shard must have read before it answers. The incarnation before it, of another node perhaps, had read up
// to there, and nobody is to be shown less than he was shown before. It is known for each partition: those that were just
// gained hold up no answer about the others.

import type { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Log, Positions } from '../../ports/log.ts'
import type { Schedule } from '../../ports/schedule.ts'

export interface ReadBarrierPorts {
  readonly log: Pick<Log, 'look'>
  readonly schedule: Pick<Schedule, 'sleep'>
  /** It is known now. */
  readonly found: () => void
}

/** The ends to be reached, as of one look at the log; undefined before that. */
interface Goal {
  ends: Positions | undefined
}

export class ReadBarrier {
  readonly #ports: ReadBarrierPorts
  /** Those that are not reached. */
  readonly #goals = new Map<Partition, Goal>()

  constructor(ports: ReadBarrierPorts) {
    this.#ports = ports
  }

  /** Starts these partitions anew. Called after their claim, so that the owner before reads nothing more. */
  async begin(partitions: readonly Partition[]): Promise<void> {
    const { log, schedule, found } = this.#ports
    const goal: Goal = { ends: undefined }
    for (const partition of partitions) this.#goals.set(partition, goal)
    while (this.#isWanted(goal)) {
      try {
        goal.ends = await log.look()
        return found()
      } catch {
        // The log is away, which shows in appends and in `/readyz`; questions wait.
        await schedule.sleep(LIMITS.logEndRetryMs)
      }
    }
  }

  isReached(seen: Positions, partitions: readonly Partition[]): boolean {
    return this.#goals.size === 0 || partitions.every((partition) => this.#isOneReached(seen, partition))
  }

  close(): void {
    this.#goals.clear()
  }

  #isOneReached(seen: Positions, partition: Partition): boolean {
    const goal = this.#goals.get(partition)
    if (goal === undefined) return true
    if (goal.ends === undefined || (seen[partition] ?? 0) < (goal.ends[partition] ?? 0)) return false
    this.#goals.delete(partition)
    return true
  }

  #isWanted(goal: Goal): boolean {
    return [...this.#goals.values()].includes(goal)
  }
}
