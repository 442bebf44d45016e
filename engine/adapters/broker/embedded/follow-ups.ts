// What happens to a session's messages once they are durable, beside their acknowledgement: they are retained, or
// echoed to the device itself. In the order of the messages.
import { LIMITS } from '../../../limits.ts'
import type { Qos } from '../filters.ts'

export interface FollowUp {
  readonly suffix: string
  readonly payload: Buffer
  readonly qos: Qos
  readonly retain: boolean
}

export class FollowUps {
  readonly #perform: (followUp: FollowUp) => Promise<unknown>
  readonly #relieved: () => void
  #waiting: FollowUp[] = []
  #underWay = 0

  constructor(means: { perform(followUp: FollowUp): Promise<unknown>; relieved(): void }) {
    this.#perform = means.perform
    this.#relieved = means.relieved
  }

  /** No more messages should be read that could need one. */
  get isFull(): boolean {
    return this.#underWay >= LIMITS.sessionPendingMax
  }

  add(followUp: FollowUp): void {
    this.#waiting.push(followUp)
  }

  /** The message of the oldest one is durable. */
  begin(): void {
    const followUp = this.#waiting.shift()
    // Forgotten meanwhile.
    if (followUp === undefined) return
    this.#underWay++
    const done = () => {
      this.#underWay--
      this.#relieved()
    }
    this.#perform(followUp).then(done, done)
  }

  forget(): void {
    this.#waiting = []
  }
}
