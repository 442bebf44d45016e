// How far a life of a shard must have read before it answers. The life before it, of another node perhaps, had read up
// to there, and nobody is to be shown less than he was shown before.

import type { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Log, Positions } from '../../ports/log.ts'
import type { Schedule } from '../../ports/schedule.ts'

export interface GoalMeans {
  readonly log: Pick<Log, 'look'>
  readonly schedule: Pick<Schedule, 'sleep'>
  readonly partitions: readonly Partition[]
  /** It is known now. */
  readonly found: () => void
}

export class Goal {
  readonly #means: GoalMeans
  #ends: Positions | undefined
  #isReached = false
  #lives = 0

  constructor(means: GoalMeans) {
    this.#means = means
  }

  /** Of a new life: after its claim, so that nothing more is read by the one before it. */
  async begin(): Promise<void> {
    const { log, schedule, found } = this.#means
    const life = ++this.#lives
    this.#ends = undefined
    this.#isReached = false
    while (life === this.#lives) {
      try {
        const ends = await log.look()
        if (life !== this.#lives) return
        this.#ends = ends
        return found()
      } catch {
        // The log is away, which shows in appends and in `/readyz`; questions wait.
        await schedule.sleep(LIMITS.logEndRetryMs)
      }
    }
  }

  isReached(seen: Positions): boolean {
    const ends = this.#ends
    if (!this.#isReached && ends !== undefined)
      this.#isReached = this.#means.partitions.every((p) => (seen[p] ?? 0) >= (ends[p] ?? 0))
    return this.#isReached
  }

  close(): void {
    this.#lives++
  }
}
