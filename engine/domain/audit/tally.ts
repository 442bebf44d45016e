// Refusals that anyone can cause at any rate. The first of a kind within a minute becomes an entry at once, the others
// are counted and become one entry at the minute's end, so that a flood fills neither memory nor disk. Kinds are
// bounded for each address: more of them in one minute are counted by action, code and address. They are bounded in all,
// too: beyond that bound they are counted by action and code alone. A refusal about an account that exists names it in any
// case: whoever guesses its password hides behind no number of made-up ones.
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
  /** Number of kinds by address. */
  #addresses = new Map<string, number>()

  constructor(kindsMax: number = LIMITS.auditRefusalKindsMax) {
    this.#kindsMax = kindsMax
  }

  /** True if the refusal is the first of its kind in this minute and becomes an entry by itself. Call `take` for the
   *  same instant first. */
  add(entry: AuditEntry, at: Millis): boolean {
    const key = keyOf(entry)
    const known = this.#counted.get(key)
    if (known !== undefined) {
      this.#counted.set(key, { ...known, at, count: known.count + 1 })
      return false
    }
    const address = entry.ip ?? ''
    const kinds = this.#addresses.get(address) ?? 0
    const isRoomy = this.#counted.size < this.#kindsMax
    if (isRoomy && kinds < LIMITS.auditRefusalKindsPerAddressMax) {
      this.#counted.set(key, { entry, at, count: 0 })
      this.#addresses.set(address, kinds + 1)
      return true
    }
    // The entry of an address counts as one of its kinds, so that there is room for it.
    const { ip: _, ...fromAnywhere } = entry
    this.#addOther(isRoomy || this.#counted.has(keyOfOthers(entry)) ? entry : fromAnywhere, at)
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
    this.#addresses = new Map()
    this.#minute = minute
    return counted
  }

  /** Without an address it needs no bound, because there are few actions and codes, and no more accounts than there may be. */
  #addOther(refusal: AuditEntry, at: Millis): void {
    const key = keyOfOthers(refusal)
    const count = this.#counted.get(key)?.count ?? 0
    const { action, outcome, code, ip, actor, target } = refusal
    const entry: AuditEntry = {
      actor: target === undefined ? { type: 'anonymous' } : actor,
      action,
      outcome,
      code,
      ...(ip === undefined ? {} : { ip }),
      ...(target === undefined ? { detail: { various: true } } : { target }),
    }
    this.#counted.set(key, { entry, at, count: count + 1 })
  }
}

type OthersKey = Pick<AuditEntry, 'action' | 'code' | 'ip' | 'target'>

function keyOfOthers({ action, code, ip, target }: OthersKey): string {
  return `${action} ${code} ${ip ?? ''} ${target ?? ''}`
}

function keyOf({ actor, action, target, deviceId, code, ip }: AuditEntry): string {
  return JSON.stringify([action, code, deviceId, ip, actor.id, actor.name, target])
}
