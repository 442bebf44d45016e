// Refusals that anyone can cause at any rate. The first of a kind within a minute becomes an entry at once, the others
// are counted and become one entry at the minute's end, so that a flood fills neither memory nor disk. Kinds are
// bounded: more of them in one minute are counted by action and code alone.
import type { Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { AuditEntry } from './entry.ts'

const MINUTE_MS = 60_000

export interface RefusalCount {
  readonly entry: AuditEntry
  /** Time of the last refusal counted. */
  readonly at: Millis
  readonly count: number
}

export class RefusalTally {
  readonly #kindsMax: number
  #minute = 0
  #counted = new Map<string, RefusalCount>()

  constructor(kindsMax: number = LIMITS.auditRefusalKindsMax) {
    this.#kindsMax = kindsMax
  }

  /** True if the refusal is the first of its kind in this minute and becomes an entry by itself. Call `take` for the
   *  same instant first. */
  add(entry: AuditEntry, at: Millis): boolean {
    const key = keyOf(entry)
    const known = this.#counted.get(key)
    if (known === undefined && this.#counted.size < this.#kindsMax) {
      this.#counted.set(key, { entry, at, count: 0 })
      return true
    }
    if (known !== undefined) {
      this.#counted.set(key, { ...known, at, count: known.count + 1 })
      return false
    }
    this.#addOther(entry, at)
    return false
  }

  /** Returns the counts that have no entry yet, once their minute is over. */
  take(at: Millis): readonly RefusalCount[] {
    const minute = Math.floor(at / MINUTE_MS)
    return minute === this.#minute ? [] : this.takeAll(minute)
  }

  takeAll(minute = this.#minute): readonly RefusalCount[] {
    const counted = [...this.#counted.values()].filter(({ count }) => count > 0)
    this.#counted = new Map()
    this.#minute = minute
    return counted
  }

  /** Needs no bound, because there are few actions and codes. */
  #addOther({ action, outcome, code }: AuditEntry, at: Millis): void {
    const key = `${action} ${code}`
    const count = this.#counted.get(key)?.count ?? 0
    const entry: AuditEntry = {
      actor: { type: 'anonymous' },
      action,
      outcome,
      code,
      detail: { various: true },
    }
    this.#counted.set(key, { entry, at, count: count + 1 })
  }
}

function keyOf({ actor, action, target, deviceId, code, ip }: AuditEntry): string {
  return JSON.stringify([action, code, deviceId, ip, actor.id, actor.name, target])
}
