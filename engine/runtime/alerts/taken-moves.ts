// Which moves of alerts were taken from the notices, so that none is told in two messages.
//
// - A save that failed and was carried out all the same is tried again, and brings back a notice that was taken, maybe
//   by an earlier leader: what that one made of it is in its deliveries.
import type { AlertId } from '../../../schemas/ids.ts'
import type { Delivery } from '../../domain/alert/delivery.ts'
import type { Notice } from '../../domain/alert/notice.ts'
import { LIMITS } from '../../limits.ts'

export class TakenMoves {
  /** The highest revision of each alert. The alerts that were taken last are at the end. */
  readonly #revisions = new Map<AlertId, number>()

  /** Takes up what an earlier leader made of notices. */
  restore({ members }: Pick<Delivery, 'members'>): void {
    for (const { alertId, revision } of members) this.#note(alertId, revision)
  }

  /** Returns false if this move or a later one of its alert was taken before. */
  take({ alertId, revision }: Pick<Notice, 'alertId' | 'revision'>): boolean {
    if (revision <= (this.#revisions.get(alertId) ?? 0)) return false
    this.#note(alertId, revision)
    return true
  }

  #note(alertId: AlertId, revision: number): void {
    const highest = Math.max(revision, this.#revisions.get(alertId) ?? 0)
    this.#revisions.delete(alertId)
    this.#revisions.set(alertId, highest)
    const [oldest = alertId] =
      this.#revisions.size > LIMITS.noticesRememberedMax ? this.#revisions.keys() : []
    if (oldest !== alertId) this.#revisions.delete(oldest)
  }
}
