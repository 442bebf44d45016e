// A device that moves around. It reports what its type measures, and commands make it move.
import type { JsonObject } from '../../../../schemas/json.ts'
import { type Body, createBody, step } from '../roaming/motion.ts'
import { Orders } from '../roaming/orders.ts'
import { type Random, seeded } from '../roaming/random.ts'
import { reportOf, SIMULATED_TYPES, type SimulatedType } from '../roaming/report.ts'

export class Roamer {
  readonly #random: Random
  readonly #type: SimulatedType
  #orders: Orders | undefined
  #body: Body
  #movedSec: number

  constructor(seed: number, type: string, elapsedSec: number) {
    this.#random = seeded(seed)
    this.#type = SIMULATED_TYPES.find((known) => known === type) ?? 'mqtt_device'
    this.#body = createBody(this.#random)
    this.#movedSec = elapsedSec
  }

  /** Moves the device up to this time. Returns the acks that follow from its new position. */
  move(elapsedSec: number, stamp: string): readonly JsonObject[] {
    this.#body = step(this.#body, elapsedSec - this.#movedSec, this.#random)
    this.#movedSec = elapsedSec
    return this.#orders?.finish(this.#body, stamp) ?? []
  }

  /** True while the device is on its way to the destination of a command. */
  get isBusy(): boolean {
    return this.#orders?.isBusy ?? false
  }

  report(stamp: string): JsonObject {
    return reportOf(this.#type, this.#body, stamp)
  }

  /** Carries out a command and returns its acks. */
  take(message: JsonObject, stamp: string): readonly JsonObject[] {
    this.#orders ??= new Orders()
    const { body, acks } = this.#orders.take(this.#body, message, stamp)
    this.#body = body
    return acks
  }
}
