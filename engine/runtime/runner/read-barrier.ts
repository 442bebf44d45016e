// How far an incarnation of a shard must read before it may answer: up to where the previous one, perhaps on another node,
// had read, so that nobody is shown less than before. This is known per partition, so partitions that were just gained do
// not delay answers about the others.

import type { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Log, Positions } from '../../ports/log.ts'
import type { Schedule } from '../../ports/schedule.ts'

export interface ReadBarrierPorts {
  readonly log: Pick<Log, 'readEnds'>
  readonly schedule: Pick<Schedule, 'sleep'>
  /** Called when the ends are known. */
  readonly targetKnown: () => void
}

/** The ends to reach, all from one look at the log. Undefined before that look. */
interface BarrierTarget {
  ends: Positions | undefined
}

export class ReadBarrier {
  readonly #ports: ReadBarrierPorts
  /** Partitions whose ends are not reached yet. */
  readonly #targets = new Map<Partition, BarrierTarget>()

  constructor(ports: ReadBarrierPorts) {
    this.#ports = ports
  }

  /** Begins again for these partitions. Called after their claim, so that their previous owner reads nothing more. */
  async begin(partitions: readonly Partition[]): Promise<void> {
    const { log, schedule, targetKnown } = this.#ports
    const target: BarrierTarget = { ends: undefined }
    for (const partition of partitions) this.#targets.set(partition, target)
    while (this.#isWanted(target)) {
      try {
        target.ends = await log.readEnds()
        return targetKnown()
      } catch {
        // The log does not answer, which appends and `/readyz` report. Questions wait.
        await schedule.sleep(LIMITS.logEndRetryMs)
      }
    }
  }

  isReached(seen: Positions, partitions: readonly Partition[]): boolean {
    return this.#targets.size === 0 || partitions.every((partition) => this.#isOneReached(seen, partition))
  }

  close(): void {
    this.#targets.clear()
  }

  #isOneReached(seen: Positions, partition: Partition): boolean {
    const target = this.#targets.get(partition)
    if (target === undefined) return true
    if (target.ends === undefined || (seen[partition] ?? 0) < (target.ends[partition] ?? 0)) return false
    this.#targets.delete(partition)
    return true
  }

  #isWanted(target: BarrierTarget): boolean {
    return [...this.#targets.values()].includes(target)
  }
}
