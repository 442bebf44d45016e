// Saves the proposals of one shard, one at a time, and retries each save until it succeeds (R4).
//
// - A save carries every position applied since the last one. A batch that changes no record is not saved by itself, but
//   later saves depend on it: without its position, a restart would apply it once more, to records that already follow
//   from it.

import type { Partition } from '../../../schemas/ids.ts'
import { widened } from '../../domain/telemetry/late-hours.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'
import {
  type Claim,
  type LateHour,
  type LateHours,
  NO_SAVE,
  type Records,
  type Save,
  type ShardSave,
} from '../../ports/store.ts'
import type { Position } from '../shard/protocol.ts'
import type { SaveSignal } from '../signals.ts'

type SaverStore = Pick<Records, 'save'> & Pick<LateHours, 'lateHoursOf' | 'clearLate'>

export interface SaverEvents {
  signal(signal: SaveSignal): void
  /** Called when the store will not save any more in this incarnation of the process. */
  fatal(fault: Fault): void
}

export class Saver {
  readonly #store: SaverStore
  readonly #schedule: Schedule
  readonly #events: SaverEvents
  readonly #claims: readonly Claim[]
  readonly #unsaved = new Map<Partition, number>()
  #isClosed = false

  constructor(
    parts: {
      readonly store: SaverStore
      readonly schedule: Schedule
      readonly claims: readonly Claim[]
    },
    events: SaverEvents,
  ) {
    this.#store = parts.store
    this.#schedule = parts.schedule
    this.#claims = parts.claims
    this.#events = events
  }

  /** Notes positions that were applied without a change of any record. */
  passed(applied: readonly Position[]): void {
    for (const { partition, seq } of applied) this.#unsaved.set(partition, seq)
  }

  /** Resolves with true once the proposal is saved, and with false if it never will be. */
  async save({
    applied,
    removed: gone,
    changed,
    parts,
    commands,
    deadLetters,
    late,
    history,
    notices,
  }: ShardSave): Promise<boolean> {
    const positions = new Map([
      ...this.#unsaved,
      ...applied.map(({ partition, seq }) => [partition, seq] as const),
    ])
    const { added, needless } = widened(late, (deviceId) => this.#store.lateHoursOf(deviceId))
    const save: Save = {
      ...NO_SAVE,
      claims: this.#claims,
      applied: [...positions].map(([partition, seq]) => ({ partition, seq })),
      removed: gone,
      changed,
      parts,
      commands,
      deadLetters,
      late: added,
      history,
      notices,
    }
    while (!this.#isClosed) {
      try {
        await this.#store.save(save)
        this.#unsaved.clear()
        await this.#clear(needless)
        return true
      } catch (error) {
        const fault = toFault(error)
        if (!fault.retryable) {
          this.#isClosed = true
          this.#events.fatal(fault)
          return false
        }
        this.#events.signal({ kind: 'save_failed', fault })
        await this.#schedule.sleep(LIMITS.saveRetryMs)
      }
    }
    return false
  }

  /** Clears marks that a saved mark spans. If they stay, the device's next late hour makes them needless again. */
  async #clear(marks: readonly LateHour[]): Promise<void> {
    if (marks.length === 0) return
    await this.#store.clearLate(marks, this.#claims).catch((error: unknown) => {
      this.#events.signal({ kind: 'save_failed', fault: toFault(error) })
    })
  }

  /** Gives up on what is not saved yet. The log still has it. */
  close(): void {
    this.#isClosed = true
  }
}

export function isSaveNeeded({
  removed: gone,
  changed,
  parts,
  commands,
  deadLetters,
  late,
  history,
  notices,
}: Omit<ShardSave, 'applied'>): boolean {
  return [gone, changed, parts, commands, deadLetters, late, history, notices].some(
    ({ length }) => length > 0,
  )
}

/** The number of records that a save writes one by one. History is not counted, because it is written as one. */
export function recordsOf({ changed, parts, commands, deadLetters, notices }: ShardSave): number {
  return changed.length + parts.length + commands.length + deadLetters.length + notices.length
}

export function toFault(error: unknown): Fault {
  return error instanceof Fault
    ? error
    : new Fault('STORE_UNAVAILABLE', { retryable: true, message: String(error), cause: error })
}
