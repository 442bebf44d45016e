// Saves of one shard's proposals: tried until they succeed, one at a time (R4).
//
// - A save carries every position applied since the last one. Batches that change nothing are not saved, but
//   what is saved later follows from them: a restart that found a record without its past would apply the past
//   to it once more.

import type { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { type Claim, NO_SAVE, type Records, type Save, type ShardSave } from '../../ports/store.ts'
import type { Position } from '../shard/protocol.ts'
import type { SaveSignal } from '../signals.ts'

export interface SaverEvents {
  signal(signal: SaveSignal): void
  /** The store will not save any more in this incarnation of the process. */
  fatal(fault: Fault): void
}

export class Saver {
  readonly #store: Pick<Records, 'save'>
  readonly #schedule: Schedule
  readonly #events: SaverEvents
  readonly #claims: readonly Claim[]
  readonly #unsaved = new Map<Partition, number>()
  #isClosed = false

  constructor(
    parts: {
      readonly store: Pick<Records, 'save'>
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

  /** Applied without a change of any record. */
  passed(applied: readonly Position[]): void {
    for (const { partition, seq } of applied) this.#unsaved.set(partition, seq)
  }

  /** Resolves `true` once it is saved, `false` if that will not be. */
  async save({
    applied,
    gone,
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
    const save: Save = {
      ...NO_SAVE,
      claims: this.#claims,
      applied: [...positions].map(([partition, seq]) => ({ partition, seq })),
      gone,
      changed,
      parts,
      commands,
      deadLetters,
      late,
      history,
      notices,
    }
    while (!this.#isClosed) {
      try {
        await this.#store.save(save)
        this.#unsaved.clear()
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

  /** Gives up what is not saved yet: the log has it. */
  close(): void {
    this.#isClosed = true
  }
}

export function isSaveNeeded({
  gone,
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

export function toFault(error: unknown): Fault {
  return error instanceof Fault
    ? error
    : new Fault('STORE_UNAVAILABLE', { retryable: true, message: String(error), cause: error })
}
