// Checkpoints of one shard. Once all rows up to a position are stored, that position and the vitals as of it are saved,
// and the log before it may be trimmed. A restart reads what lies after the last checkpoint.
//
// K1. A checkpoint of a lost shard is not saved: positions never go back, and vitals never fall behind them.
// - A request is answered once a checkpoint reaches everything that was applied when the request was made. Rows that
//   must still be read again are included.
import { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Fault } from '../../ports/fault.ts'
import type { Log, Positions } from '../../ports/log.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Checkpoint, Claim, Records } from '../../ports/store.ts'
import type { WorkResult } from '../shard/protocol.ts'
import { shuttingDown } from '../shutting-down.ts'
import type { SaveSignal } from '../signals.ts'
import { toFault } from './saver.ts'

export interface CheckpointerPorts {
  /** The shard's partitions. */
  readonly partitions: readonly Partition[]
  readonly claims: readonly Claim[]
  readonly clock: Clock
  readonly schedule: Schedule
  readonly log: Pick<Log, 'trim'>
  readonly store: Pick<Records, 'inserted' | 'checkpoint'>
}

export interface CheckpointerEvents {
  /** Called when another checkpoint may be due. */
  done(): void
  signal(signal: SaveSignal): void
  /** Called when checkpoints will not work again in this incarnation of the process. */
  fatal(fault: Fault): void
}

interface CheckpointRequest {
  /** The positions that the request waits for. Set once no proposal is open. */
  target: Positions | undefined
  readonly resolve: () => void
  readonly reject: (fault: Fault) => void
}

export class Checkpointer {
  readonly #ports: CheckpointerPorts
  readonly #events: CheckpointerEvents
  #lastTicks: number
  #isUnderWay = false
  #incarnation = 0
  #saving: Promise<void> = Promise.resolve()
  /** Vitals that were handed out but not saved. They go with the next checkpoint. */
  readonly #unsaved = new Map<Checkpoint['vitals'][number]['deviceId'], Uint8Array>()
  #requests: CheckpointRequest[] = []
  #isClosed = false

  constructor(ports: CheckpointerPorts, events: CheckpointerEvents) {
    this.#ports = ports
    this.#events = events
    this.#lastTicks = ports.clock.ticks()
  }

  /** Resolves once a checkpoint has reached everything applied so far. */
  request(): Promise<void> {
    if (this.#isClosed) return Promise.reject(shuttingDown())
    return new Promise((resolve, reject) => {
      this.#requests.push({ target: undefined, resolve, reject })
    })
  }

  get isRequested(): boolean {
    return this.#requests.length > 0
  }

  /** Called only while no proposal is open. `covered`: how far rows reach. */
  isDue(applied: Positions, covered: Positions): boolean {
    for (const request of this.#requests) request.target ??= [...applied]
    if (this.#isUnderWay) return false
    const isReached = this.#requests.some(({ target }) => this.#isReached(target, covered))
    return isReached || this.#ports.clock.ticks() - this.#lastTicks >= LIMITS.checkpointEveryMs
  }

  /** Takes a result with all rows handed out. `inserted` resolves once these are stored. */
  take(result: WorkResult, inserted: Promise<boolean>, covered: Positions): void {
    for (const { deviceId, bytes } of result.vitals) this.#unsaved.set(deviceId, bytes)
    if (!result.isAllOut) return
    this.#isUnderWay = true
    this.#lastTicks = this.#ports.clock.ticks()
    void this.#finish(result, inserted, covered)
  }

  /** Forgets the vitals of a lost shard: they are older than the log, from which the next shard reads them again. Resolves
   *  once nothing of the lost shard is being saved (K1). */
  abandon(): Promise<void> {
    this.#incarnation++
    this.#unsaved.clear()
    return this.#saving
  }

  close(): void {
    this.#isClosed = true
    for (const { reject } of this.#requests) reject(shuttingDown())
    this.#requests = []
  }

  async #finish(result: WorkResult, inserted: Promise<boolean>, covered: Positions): Promise<void> {
    const incarnation = this.#incarnation
    const vitals = [...this.#unsaved].map(([deviceId, bytes]) => ({ deviceId, bytes }))
    const areRowsStored = await inserted
    if (areRowsStored && incarnation === this.#incarnation) {
      const { claims } = this.#ports
      const saving = this.#save({ claims, inserted: positionsOf(result.covered), vitals }, incarnation)
      this.#saving = saving.then(() => {})
      if (await saving) this.#answer(covered)
    }
    this.#isUnderWay = false
    this.#events.done()
  }

  #answer(covered: Positions): void {
    const answered = this.#requests.filter(({ target }) => this.#isReached(target, covered))
    this.#requests = this.#requests.filter((request) => !answered.includes(request))
    for (const { resolve } of answered) resolve()
  }

  #isReached(target: Positions | undefined, covered: Positions): boolean {
    if (target === undefined) return false
    return this.#ports.partitions.every((p) => (covered[p] ?? 0) >= (target[p] ?? 0))
  }

  /** Gives up after some attempts, because a later checkpoint covers this one. Positions and vitals stay as they were. */
  async #save(checkpoint: Checkpoint, incarnation: number): Promise<boolean> {
    const { store, log, schedule } = this.#ports
    const before = store.inserted()
    const hasChanges =
      checkpoint.vitals.length > 0 ||
      checkpoint.inserted.some(({ partition, seq }) => seq !== (before[partition] ?? 0))
    for (let attempt = 0; attempt < LIMITS.attemptsMax; attempt++) {
      if (incarnation !== this.#incarnation || this.#isClosed) return false
      try {
        if (hasChanges) await store.checkpoint(checkpoint)
        for (const { deviceId, bytes } of checkpoint.vitals)
          if (this.#unsaved.get(deviceId) === bytes) this.#unsaved.delete(deviceId)
        await log.trim(store.inserted())
        return true
      } catch (error) {
        const fault = toFault(error)
        if (!fault.retryable) {
          this.#isClosed = true
          this.#events.fatal(fault)
          return false
        }
        this.#events.signal({ kind: 'save_failed', fault })
        await schedule.sleep(LIMITS.checkpointRetryMs)
      }
    }
    return false
  }
}

function positionsOf(covered: Float64Array): Checkpoint['inserted'] {
  return Array.from(covered, (seq, partition) => ({ partition: Partition(partition), seq })).filter(
    ({ seq }) => seq > 0,
  )
}
