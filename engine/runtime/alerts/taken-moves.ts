// Which moves of alerts were taken from notices, so that no move is told in two messages.
//
// - A failed save may have been carried out all the same. It is retried and brings back a notice that was taken, perhaps
//   by an earlier leader, whose deliveries show what it had taken.
import type { AlertId } from '../../../schemas/ids.ts'
import type { Delivery } from '../../domain/alert/delivery.ts'
import type { Notice } from '../../domain/alert/notice.ts'
import { LIMITS } from '../../limits.ts'

export class TakenMoves {
  /** The highest revision of each alert. The alerts taken most recently are at the end. */
  readonly #revisions = new Map<AlertId, number>()

  /** Notes what an earlier leader has taken. */
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
