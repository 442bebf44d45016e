// Hands messages to the device, which sends them, or keeps them on disk while it cannot.
import type { JsonObject } from '../../../schemas/json.ts'

export interface Delivered {
  readonly suffix: string
  readonly body: JsonObject
  readonly qos: 0 | 1 | 2
}

export interface DeliveryPorts {
  readonly isConnected: () => boolean
  /** Resolves once the service has the message. */
  readonly publish: (message: Delivered) => Promise<void>
}

export class Delivery {
  readonly #ports: DeliveryPorts
  #dropped = 0

  constructor(ports: DeliveryPorts) {
    this.#ports = ports
  }

  get dropped(): number {
    return this.#dropped
  }

  send(message: Delivered): void {
    this.#ports.publish(message).catch(() => {
      this.#dropped++
    })
  }
}
