// Creates the telemetry messages of a device. A fault may change or drop a message.
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { distort } from '../decide/distort.ts'
import type { Fault } from '../scenario/scenario.ts'
import type { DeviceCohort } from './device-cohort.ts'
import type { Roamer } from './roamer.ts'
import type { World } from './world.ts'

export class TelemetryGenerator {
  readonly #world: World
  readonly #cohort: DeviceCohort
  readonly #index: number
  readonly #roamer: Roamer | undefined
  #nth = 0
  #overrides: Readonly<Record<string, Json>> | undefined
  /** The fields that a stuck sensor keeps sending. */
  #stuck: JsonObject | undefined

  constructor(
    about: { readonly world: World; readonly cohort: DeviceCohort; readonly index: number },
    roamer?: Roamer,
  ) {
    this.#world = about.world
    this.#cohort = about.cohort
    this.#index = about.index
    this.#roamer = roamer
  }

  override(field: string, value: Json): void {
    this.#overrides = { ...this.#overrides, [field]: value }
  }

  /** Returns the next message. Undefined if a fault drops it. */
  next(fault: Fault | undefined): string | undefined {
    const nth = this.#nth++
    if (fault !== undefined || this.#overrides !== undefined) return this.#nextDistorted(nth, fault)
    const stamp = this.#world.stamp()
    if (this.#roamer !== undefined) return JSON.stringify(this.#roamer.report(stamp))
    return this.#cohort.text(this.#index, nth, { elapsedSec: this.#world.elapsedSec(), stamp })
  }

  #nextDistorted(nth: number, fault: Fault | undefined): string | undefined {
    const elapsedSec = this.#world.elapsedSec()
    const stamp = this.#world.stamp(fault?.kind === 'clock_skew' ? fault.delaySec * 1_000 : 0)
    const measured = this.#roamer?.report(stamp) ?? this.#cohort.fields(this.#index, nth, elapsedSec)
    const fields = { ...measured, ...this.#overrides, timestamp: stamp }
    if (fault === undefined) return JSON.stringify(fields)
    const about = { seed: this.#cohort.seed, device: this.#index, nth, sinceSec: elapsedSec - fault.atSec }
    const distorted = distort(fault, fields, { ...about, last: this.#stuck })
    this.#stuck = fault.kind === 'stuck' ? (this.#stuck ?? fields) : undefined
    if (distorted.kind === 'dropped') return undefined
    // A device with a stuck sensor still has a clock.
    return distorted.kind === 'raw'
      ? distorted.text
      : JSON.stringify({ ...distorted.fields, timestamp: stamp })
  }
}
