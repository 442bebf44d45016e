// Tells devices on `error` what is wrong with their messages: at most one message per device and second, with QoS 0. If
// the device is not subscribed then, perhaps because the error ended its session, it gets the latest one once it is.
import { type DeviceId, Millis } from '../../schemas/ids.ts'
import { type AddressedMessage, errorMessage } from '../domain/dead-letter/error-message.ts'
import { LIMITS } from '../limits.ts'
import type { Broker, DeviceSession } from '../ports/broker.ts'
import type { DeadLetter } from '../ports/store.ts'
import type { MayAct } from './sender.ts'

interface WithheldErrors {
  readonly addressed: AddressedMessage
  readonly until: Millis
}

export interface ErrorTellerPorts {
  readonly broker: Pick<Broker, 'publish'>
  readonly now: () => Millis
  readonly failed: (error: unknown) => void
}

export class ErrorTeller {
  readonly #ports: ErrorTellerPorts
  /** When each device was last told, oldest first. */
  readonly #toldAt = new Map<DeviceId, Millis>()
  /** The latest error of each device that was not subscribed. The key is the device that holds the connection. */
  readonly #untold = new Map<DeviceId, WithheldErrors>()

  constructor(ports: ErrorTellerPorts) {
    this.#ports = ports
  }

  tell(letters: readonly DeadLetter[], mayAct: MayAct): void {
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
      if (!isTaken) this.#keep(addressed)
    }, this.#ports.failed)
  }

  /** Called when a session has subscribed to more topics. */
  listens(session: DeviceSession): void {
    const untold = this.#untold.get(session.deviceId)
    if (untold === undefined || !session.takes(untold.addressed.message.suffix)) return
    this.#untold.delete(session.deviceId)
    if (this.#ports.now() < untold.until) this.send(untold.addressed)
  }

  #keep(addressed: AddressedMessage): void {
    const { deviceId } = addressed
    this.#untold.delete(deviceId)
    this.#untold.set(deviceId, { addressed, until: Millis(this.#ports.now() + LIMITS.errorKeptMs) })
    for (const [oldest] of this.#untold) {
      if (this.#untold.size <= LIMITS.errorsKeptMax) return
      this.#untold.delete(oldest)
    }
  }

  #isDue(deviceId: DeviceId): boolean {
    const now = this.#ports.now()
    for (const [oldest, toldAt] of this.#toldAt) {
      if (now < toldAt + LIMITS.errorToldEveryMs) break
      this.#toldAt.delete(oldest)
    }
    // Only devices that were told within the last second are left.
    if (this.#toldAt.has(deviceId) || this.#toldAt.size >= LIMITS.errorsToldMax) return false
    this.#toldAt.set(deviceId, now)
    return true
  }
}
