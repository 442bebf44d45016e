// Checkpoints of one shard: once all rows up to a position are stored, the vitals as of then and the position are
// saved, and the log behind it may go. What a restart reads again is what lies behind the last checkpoint.
import { Partition } from '../../schemas/ids.ts'
import { LIMITS } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Checkpoint, Store } from '../ports/store.ts'
import type { WorkResult } from './protocol.ts'
import type { Schedule } from './schedule.ts'

const RETRY_MS = 500

export class Checkpointer {
  readonly #clock: Clock
  readonly #schedule: Schedule
  readonly #log: Log
  readonly #store: Store
  readonly #poke: () => void
  #lastTicks: number
  #isUnderWay = false
  /** Vitals that were handed out and are not saved: they go with the next checkpoint. */
  readonly #unsaved = new Map<Checkpoint['vitals'][number]['deviceId'], Uint8Array>()
  #requests: (() => void)[] = []

  constructor(ports: { clock: Clock; schedule: Schedule; log: Log; store: Store }, poke: () => void) {
    this.#clock = ports.clock
    this.#schedule = ports.schedule
    this.#log = ports.log
    this.#store = ports.store
    this.#poke = poke
    this.#lastTicks = ports.clock.ticks()
  }

  /** Resolves after a checkpoint that begins after this call. */
  request(): Promise<void> {
    return new Promise((resolve) => {
      this.#requests.push(resolve)
    })
  }

  isDue(): boolean {
    if (this.#isUnderWay) return false
    return this.#requests.length > 0 || this.#clock.ticks() - this.#lastTicks >= LIMITS.checkpointEveryMs
  }

  take(result: WorkResult, inserted: Promise<boolean>): void {
    for (const { deviceId, bytes } of result.vitals) this.#unsaved.set(deviceId, bytes)
    if (!result.isAllOut) return
    this.#isUnderWay = true
    this.#lastTicks = this.#clock.ticks()
    const requests = this.#requests
    this.#requests = []
    void this.#finish(result, inserted, requests)
  }

  /** The shard is gone: the vitals it handed out are older than the log, and are read again from there. */
  abandon(): void {
    this.#unsaved.clear()
  }

  async #finish(
    result: WorkResult,
    inserted: Promise<boolean>,
    requests: readonly (() => void)[],
  ): Promise<void> {
    const vitals = [...this.#unsaved].map(([deviceId, bytes]) => ({ deviceId, bytes }))
    if (await inserted) await this.#save({ inserted: marksOf(result.covered), vitals })
    this.#isUnderWay = false
    for (const resolve of requests) resolve()
    this.#poke()
  }

  async #save(checkpoint: Checkpoint): Promise<void> {
    for (let attempt = 0; attempt < LIMITS.attemptsMax; attempt++) {
      try {
        await this.#store.checkpoint(checkpoint)
        for (const { deviceId, bytes } of checkpoint.vitals)
          if (this.#unsaved.get(deviceId) === bytes) this.#unsaved.delete(deviceId)
        await this.#log.trim(this.#store.inserted())
        return
      } catch {
        // A later checkpoint covers this one: the position has not moved and the vitals are kept.
        await this.#schedule.sleep(RETRY_MS)
      }
    }
  }
}

function marksOf(covered: Float64Array): Checkpoint['inserted'] {
  return Array.from(covered, (seq, partition) => ({ partition: Partition(partition), seq })).filter(
    ({ seq }) => seq > 0,
  )
}
