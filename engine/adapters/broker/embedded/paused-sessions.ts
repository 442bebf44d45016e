// Sessions that have stopped reading because the host is overloaded.
import type { LiveSession } from './session-hub.ts'

export class PausedSessions {
  readonly #sessions = new Set<LiveSession>()
  readonly #isCongested: () => boolean
  #isRelieved = false

  constructor(isCongested: () => boolean) {
    this.#isCongested = isCongested
  }

  add(session: LiveSession): void {
    this.#sessions.add(session)
  }

  gone(session: LiveSession): void {
    this.#sessions.delete(session)
  }

  /** Lets them read again, in a later turn: reading leads to uplinks, and the host may be in the middle of one. */
  relieve(): void {
    if (this.#isRelieved || this.#sessions.size === 0) return
    this.#isRelieved = true
    setImmediate(() => {
      this.#isRelieved = false
      for (const session of this.#sessions) {
        if (this.#isCongested()) return
        session.resume()
        if (!session.isPaused) this.#sessions.delete(session)
      }
    })
  }
}
