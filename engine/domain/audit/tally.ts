// Counts refusals that anyone can cause at any rate, so that a flood fills neither memory nor disk. The first refusal of a
// kind within a minute becomes an entry at once. The others are counted, and become one entry at the end of the minute.
//
// The number of kinds in a minute is bounded per address. Further kinds are counted by action, code and address. The total
// is bounded as well, and beyond it refusals are counted by action and code alone. A refusal about an existing account
// always names the account, so an attacker cannot hide guesses of its password behind made-up names.
import type { Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { AuditEntry } from './entry.ts'

const MINUTE_MS = 60_000

export interface RefusalCount {
  readonly entry: AuditEntry
  /** The time of the last refusal that was counted. */
  readonly at: Millis
  readonly count: number
}

export class RefusalTally {
  readonly #kindsMax: number
  #minute = 0
  #counted = new Map<string, RefusalCount>()
  /** The number of kinds by address. */
  #addresses = new Map<string, number>()

  constructor(kindsMax: number = LIMITS.auditRefusalKindsMax) {
    this.#kindsMax = kindsMax
  }

  /** Returns true if the refusal is the first of its kind in this minute, so the caller writes it as an entry of its own.
   *  Call `take` for the same instant first. */
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
    // Once the total is reached, an address keeps the count it already has, and gets no new one.
    const { ip: _, ...fromAnywhere } = entry
    this.#addOther(isRoomy || this.#counted.has(keyOfOthers(entry)) ? entry : fromAnywhere, at)
    return false
  }

  /** Returns the counts of the last minute once it is over, and nothing before that. */
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

  /** Counts without an address need no bound, because actions, codes and accounts are limited in number. */
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
