// Follows the alerts in all saves, in the order of the saves. A move of an alert and its notice must be in the same save,
// and a rule may have only one open alert for each subject.
import type { JsonObject } from '../../schemas/json.ts'
import { decodeNotice, type Notice } from '../domain/alert/notice.ts'
import type { WrittenRow } from '../ports/history.ts'
import type { Save } from '../ports/store.ts'

export class AlertLedger {
  readonly #violate: (what: string) => void
  /** Notices by alert and revision. */
  readonly #notices = new Map<string, Notice>()
  /** The notices of each alert, in order. */
  readonly #ofAlert = new Map<string, Notice[]>()
  /** The open alert of each rule and subject. */
  readonly #open = new Map<string, string>()
  readonly #resolved = new Set<string>()

  constructor(violate: (what: string) => void) {
    this.#violate = violate
  }

  /** Returns the notice about this move of an alert, if one was saved. */
  noticeOf(alertId: string, revision: number): Notice | undefined {
    return this.#notices.get(`${alertId} ${revision}`)
  }

  alerts(): IterableIterator<readonly [alertId: string, notices: readonly Notice[]]> {
    return this.#ofAlert.entries()
  }

  /** `fresh` holds the rows that were in no earlier save. */
  saved({ notices }: Save, fresh: readonly WrittenRow[]): void {
    // `writtenRow` wrote the bodies.
    const moves = fresh
      .filter(({ kind }) => kind === 'alert')
      .map(({ body }) => JSON.parse(body) as JsonObject)
    const told = new Set<string>()
    for (const { bytes } of notices) told.add(this.#take(decodeNotice(bytes), moves))
    for (const move of moves) this.#follow(move, told)
  }

  #take(notice: Notice, moves: readonly JsonObject[]): string {
    const { alertId, revision, event } = notice
    const key = `${alertId} ${revision}`
    const before = this.#notices.get(key)
    if (before !== undefined && before.event !== event)
      this.#violate(`${key} is both ${before.event} and ${event}`)
    if (before !== undefined) return key
    if (!moves.some((move) => move['alert_id'] === alertId && move['revision'] === revision))
      this.#violate(`${key} ${event} has a notice, but its move is not in the same save`)
    this.#notices.set(key, notice)
    const known = this.#ofAlert.get(alertId)
    if (known === undefined) this.#ofAlert.set(alertId, [notice])
    else known.push(notice)
    return key
  }

  #follow(move: JsonObject, told: ReadonlySet<string>): void {
    const alertId = String(move['alert_id'])
    const key = `${alertId} ${move['revision']}`
    const subject = `${move['rule_id']} ${move['device_id'] ?? move['group']}`
    const isMuted = JSON.stringify(move['suppressed_by']) !== '[]'
    const event = move['event']
    const open = this.#open.get(subject)
    if (event === 'alert.fired') {
      if (open !== undefined) this.#violate(`${alertId} fired while ${open} was open`)
      if (this.#resolved.has(alertId)) this.#violate(`${alertId} fired after it was resolved`)
      if (!isMuted && !told.has(key)) this.#violate(`${key} fired without a notice`)
      this.#open.set(subject, alertId)
    }
    if (event !== 'alert.resolved') return
    if (open !== alertId) this.#violate(`${alertId} resolved, but ${open} was open`)
    if (this.#ofAlert.has(alertId) && !told.has(key))
      this.#violate(`${key} resolved without a notice, although there was one when it fired`)
    this.#open.delete(subject)
    this.#resolved.add(alertId)
  }
}
