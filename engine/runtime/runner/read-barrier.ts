// How far an incarnation of a shard must have read before it answers. The incarnation before it, of another node perhaps, had read up
// to there, and nobody is to be shown less than he was shown before.

import type { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Log, Positions } from '../../ports/log.ts'
import type { Schedule } from '../../ports/schedule.ts'

export interface ReadBarrierPorts {
  readonly log: Pick<Log, 'look'>
  readonly schedule: Pick<Schedule, 'sleep'>
  readonly partitions: readonly Partition[]
  /** It is known now. */
  readonly found: () => void
}

export class ReadBarrier {
  readonly #ports: ReadBarrierPorts
  #ends: Positions | undefined
  #isReached = false
  #incarnations = 0

  constructor(ports: ReadBarrierPorts) {
    this.#ports = ports
  }

  /** Starts a new incarnation. Called after its claim, so that the one before it reads nothing more. */
  async begin(): Promise<void> {
    const { log, schedule, found } = this.#ports
    const incarnation = ++this.#incarnations
    this.#ends = undefined
    this.#isReached = false
    while (incarnation === this.#incarnations) {
      try {
        const ends = await log.look()
        if (incarnation !== this.#incarnations) return
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
      this.#isReached = this.#ports.partitions.every((p) => (seen[p] ?? 0) >= (ends[p] ?? 0))
    return this.#isReached
  }

  close(): void {
    this.#incarnations++
  }
}
