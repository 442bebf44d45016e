// Tells devices on `error` what is wrong with their messages: at most one message a second each, of QoS 0. A device that
// does not listen at that moment, because its session was ended for it perhaps, is told the latest when it does.
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
  /** When each device was last told; the oldest come first. */
  readonly #toldAt = new Map<DeviceId, Millis>()
  /** The latest for devices that did not listen, by the device that the connection is of. */
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

  /** Sends it now, or once the device listens. */
  send(addressed: AddressedMessage): void {
    const { deviceId, message } = addressed
    this.#ports.broker.publish({ ...message, deviceId }).then((isTaken) => {
      if (!isTaken) this.#keep(addressed)
    }, this.#ports.failed)
  }

  /** The session may take more topics than before. */
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
    // What is left was told within the last second.
    if (this.#toldAt.has(deviceId) || this.#toldAt.size >= LIMITS.errorsToldMax) return false
    this.#toldAt.set(deviceId, now)
    return true
  }
}
