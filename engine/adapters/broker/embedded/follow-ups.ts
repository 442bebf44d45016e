// Retains a session's messages, or echoes them to the device itself, once they are durable and in their order.
import { LIMITS } from '../../../limits.ts'
import type { Message } from './session-state.ts'

export interface FollowUpPorts {
  /** Retains or echoes a durable message. */
  publish(message: Message): Promise<unknown>
  onDone(): void
}

export class FollowUps {
  readonly #ports: FollowUpPorts
  #waiting: Message[] = []
  #running = 0

  constructor(ports: FollowUpPorts) {
    this.#ports = ports
  }

  /** True while the session should read no more messages that might have to be retained or echoed. */
  get isFull(): boolean {
    return this.#running >= LIMITS.sessionPendingMax
  }

  add(message: Message): void {
    this.#waiting.push(message)
  }

  /** Called when the oldest message is durable. */
  begin(): void {
    const message = this.#waiting.shift()
    // `forget` has been called in the meantime.
    if (message === undefined) return
    this.#running++
    const done = () => {
      this.#running--
      this.#ports.onDone()
    }
    this.#ports.publish(message).then(done, done)
  }

  forget(): void {
    this.#waiting = []
  }
}
