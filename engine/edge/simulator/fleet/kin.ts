// The devices of one type: what is decided for each of them by its number, and the values that they measure.
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { numberOf, places, shareOf } from '../decide/draw.ts'
import { generate } from '../decide/generate.ts'
import type { Behaviour, Fault, TypePlan } from '../scenario/scenario.ts'

const WELL: Behaviour = { percent: 100, kind: 'ok', failures: 0 }

export class Kin {
  readonly plan: TypePlan
  readonly seed: number
  readonly #names: readonly string[]
  /** Where the walks of each device are. */
  readonly #walks: Float64Array
  readonly #walkAt: readonly number[]
  readonly #walkCount: number
  readonly #behaviours: Uint32Array
  readonly #faults: Uint32Array
  readonly #targets: Uint32Array

  constructor(plan: TypePlan, seed: number) {
    this.plan = plan
    this.seed = seed ^ numberOf(`${plan.idPrefix} ${plan.type}`)
    const fields = plan.telemetry.source.kind === 'fields' ? plan.telemetry.source.fields : []
    this.#names = fields.map(({ name }) => `,${JSON.stringify(name)}:`)
    let walks = 0
    this.#walkAt = fields.map(({ generator }) => (generator.kind === 'walk' ? walks++ : -1))
    this.#walkCount = walks
    this.#walks = new Float64Array(walks * plan.count).fill(Number.NaN)
    const { firmware, faults, count } = plan
    this.#behaviours = firmware.behaviours.length > 0 ? places(this.seed, 1, count) : EMPTY
    this.#faults = faults.length > 0 ? places(this.seed, 2, count) : EMPTY
    this.#targets = places(this.seed, 3, count)
  }

  /** `index` counts from 0. */
  idOf(index: number): string {
    const { idPrefix, idDigits, numberAt } = this.plan
    return `${idPrefix}-${String(numberAt(index)).padStart(idDigits, '0')}`
  }

  behaviourOf(index: number): Behaviour {
    const { firmware, count } = this.plan
    return shareOf(firmware.behaviours, this.#behaviours[index] ?? count, count) ?? WELL
  }

  faultOf(index: number): Fault | undefined {
    const { faults, count } = this.plan
    return shareOf(faults, this.#faults[index] ?? count, count)?.fault
  }

  /** Steps of the timeline with the same share mean the same devices. */
  isTarget(index: number, percent: number): boolean {
    const { count } = this.plan
    return (this.#targets[index] ?? count) < Math.round((percent * count) / 100)
  }

  /** The body of a message, as text: the way of nearly all messages. */
  text(index: number, nth: number, at: { readonly elapsedSec: number; readonly stamp: string }): string {
    let text = `{"timestamp":"${at.stamp}"`
    for (let field = 0; field < this.#names.length; field++) {
      const value = this.#value(index, field, { nth, elapsedSec: at.elapsedSec })
      text += this.#names[field] + (typeof value === 'number' ? String(value) : JSON.stringify(value))
    }
    return `${text}}`
  }

  fields(index: number, nth: number, elapsedSec: number): JsonObject {
    const { source } = this.plan.telemetry
    const fields = source.kind === 'fields' ? source.fields : []
    return Object.fromEntries(
      fields.map(({ name }, field) => [name, this.#value(index, field, { nth, elapsedSec })]),
    )
  }

  #value(index: number, field: number, at: { readonly nth: number; readonly elapsedSec: number }): Json {
    const { source } = this.plan.telemetry
    const found = source.kind === 'fields' ? source.fields[field] : undefined
    if (found === undefined) return null
    const moment = { seed: this.seed, device: index, nth: at.nth, elapsedSec: at.elapsedSec }
    const walk = this.#walkAt[field] ?? -1
    if (walk < 0) return generate(found, moment)
    const place = index * this.#walkCount + walk
    const value = generate(found, moment, this.#walks[place])
    if (typeof value === 'number') this.#walks[place] = value
    return value
  }
}

const EMPTY = new Uint32Array(0)
