// Sessions that have stopped reading because the host is overloaded.
import type { LiveSession } from './session-hub.ts'

export class PausedSessions {
  readonly #sessions = new Set<LiveSession>()
  readonly #isCongested: () => boolean
  #isScheduled = false

  constructor(isCongested: () => boolean) {
    this.#isCongested = isCongested
  }

  add(session: LiveSession): void {
    this.#sessions.add(session)
  }

  remove(session: LiveSession): void {
    this.#sessions.delete(session)
  }

  /** Lets them read again, in a later turn: reading leads to uplinks, and the host may be in the middle of one. */
  resumeSoon(): void {
    if (this.#isScheduled || this.#sessions.size === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      for (const session of this.#sessions) {
        if (this.#isCongested()) return
        session.resume()
        if (!session.isPaused) this.#sessions.delete(session)
      }
    })
  }
}
