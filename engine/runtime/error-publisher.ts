// Tells devices on `error` what is wrong with their messages: at most one message per device and second, with QoS 0. If
// the device is not subscribed then, perhaps because the error ended its session, it gets the latest one once it is.
import { type DeviceId, Millis } from '../../schemas/ids.ts'
import { type AddressedMessage, errorMessage } from '../domain/dead-letter/error-message.ts'
import { LIMITS } from '../limits.ts'
import type { Broker, DeviceSession } from '../ports/broker.ts'
import type { DeadLetter } from '../ports/store.ts'
import type { MayAct } from './sender.ts'

interface WithheldError {
  readonly addressed: AddressedMessage
  readonly until: Millis
}

export interface ErrorPublisherPorts {
  readonly broker: Pick<Broker, 'publish'>
  readonly now: () => Millis
  readonly failed: (error: unknown) => void
}

export class ErrorPublisher {
  readonly #ports: ErrorPublisherPorts
  /** When each device was last told, oldest first. */
  readonly #sentAt = new Map<DeviceId, Millis>()
  /** The latest error of each device that was not subscribed. The key is the device that holds the connection. */
  readonly #withheld = new Map<DeviceId, WithheldError>()

  constructor(ports: ErrorPublisherPorts) {
    this.#ports = ports
  }

  publishFor(letters: readonly DeadLetter[], mayAct: MayAct): void {
    for (const letter of letters) {
      const addressed = errorMessage(letter)
      if (addressed !== undefined && mayAct(letter.deviceId) && this.#isDue(letter.deviceId))
        this.send(addressed)
    }
  }

  /** Sends the message now, or once the device subscribes. */
  send(addressed: AddressedMessage): void {
    const { deviceId, message } = addressed
    this.#ports.broker.publish({ ...message, deviceId }).then((isTaken) => {
      if (!isTaken) this.#withhold(addressed)
    }, this.#ports.failed)
  }

  /** Called when the subscriptions of a session have changed. */
  subscribed(session: DeviceSession): void {
    const withheld = this.#withheld.get(session.deviceId)
    if (withheld === undefined || !session.takes(withheld.addressed.message.suffix)) return
    this.#withheld.delete(session.deviceId)
    if (this.#ports.now() < withheld.until) this.send(withheld.addressed)
  }

  #withhold(addressed: AddressedMessage): void {
    const { deviceId } = addressed
    this.#withheld.delete(deviceId)
    this.#withheld.set(deviceId, { addressed, until: Millis(this.#ports.now() + LIMITS.errorKeptMs) })
    for (const [oldest] of this.#withheld) {
      if (this.#withheld.size <= LIMITS.errorsKeptMax) return
      this.#withheld.delete(oldest)
    }
  }

  #isDue(deviceId: DeviceId): boolean {
    const now = this.#ports.now()
    for (const [oldest, sentAt] of this.#sentAt) {
      if (now < sentAt + LIMITS.errorToldEveryMs) break
      this.#sentAt.delete(oldest)
    }
    // Only devices that were told within the last second are left.
    if (this.#sentAt.has(deviceId) || this.#sentAt.size >= LIMITS.errorsToldMax) return false
    this.#sentAt.set(deviceId, now)
    return true
  }
}
