// Counts the notices that wait for the leader, and keeps their number within bounds.
import { LIMITS } from '../../limits.ts'
import type { NoticeCounts } from '../../ports/notices.ts'

export class NoticeCount {
  #waiting = 0
  #dropped = 0

  /** How many more notices the queue takes. */
  room(): number {
    return Math.max(0, LIMITS.noticesMax - this.#waiting)
  }

  added(notices: number): void {
    this.#waiting += notices
  }

  removed(notices: number): void {
    this.#waiting -= notices
  }

  refused(notices: number): void {
    this.#dropped += notices
  }

  counts(): NoticeCounts {
    return { waiting: this.#waiting, dropped: this.#dropped }
  }
}
