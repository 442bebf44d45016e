// What happens to a session's messages once they are durable, beside their acknowledgement: they are retained, or
// echoed to the device itself, in the order of the messages.
import { LIMITS } from '../../../limits.ts'
import type { Message } from './session-state.ts'

export interface FollowUpPorts {
  /** Retains or echoes a durable message. */
  publish(message: Message): Promise<unknown>
  relieved(): void
}

export class FollowUps {
  readonly #ports: FollowUpPorts
  #waiting: Message[] = []
  #underWay = 0

  constructor(ports: FollowUpPorts) {
    this.#ports = ports
  }

  /** No more messages should be read that could need one. */
  get isFull(): boolean {
    return this.#underWay >= LIMITS.sessionPendingMax
  }

  add(message: Message): void {
    this.#waiting.push(message)
  }

  /** The oldest message is durable. */
  begin(): void {
    const message = this.#waiting.shift()
    // Forgotten meanwhile.
    if (message === undefined) return
    this.#underWay++
    const done = () => {
      this.#underWay--
      this.#ports.relieved()
    }
    this.#ports.publish(message).then(done, done)
  }

  forget(): void {
    this.#waiting = []
  }
}
