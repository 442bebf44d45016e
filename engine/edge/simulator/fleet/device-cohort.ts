// The devices of one entry of `types`: the random decisions for each of them, and the values that they measure.
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { hashOf, permutation, shareOf } from '../decide/draw.ts'
import { generate } from '../decide/generate.ts'
import type { Behaviour, Fault, Field, TypePlan } from '../scenario/scenario.ts'

const SUCCEEDS: Behaviour = { percent: 100, kind: 'ok', failures: 0 }

export class DeviceCohort {
  readonly plan: TypePlan
  readonly seed: number
  readonly #fields: readonly PlannedField[]
  /** The current value of each walk of each device. */
  readonly #walks: Float64Array
  readonly #walkCount: number
  readonly #behaviours: Uint32Array
  readonly #faults: Uint32Array
  readonly #targets: Uint32Array

  constructor(plan: TypePlan, seed: number) {
    this.plan = plan
    this.seed = seed ^ hashOf(`${plan.idPrefix} ${plan.type}`)
    const fields = plan.telemetry.source.kind === 'fields' ? plan.telemetry.source.fields : []
    let walks = 0
    this.#fields = fields.map(({ name, generator }) => ({
      ...{ name, generator, label: `,${JSON.stringify(name)}:`, decision: hashOf(name) },
      walkAt: generator.kind === 'walk' ? walks++ : -1,
    }))
    this.#walkCount = walks
    this.#walks = new Float64Array(walks * plan.count).fill(Number.NaN)
    const { firmware, faults, count } = plan
    this.#behaviours = firmware.behaviours.length > 0 ? permutation(this.seed, 1, count) : EMPTY
    this.#faults = faults.length > 0 ? permutation(this.seed, 2, count) : EMPTY
    this.#targets = permutation(this.seed, 3, count)
  }

  /** `index` counts from 0. */
  idOf(index: number): string {
    const { idPrefix, idDigits, numberAt } = this.plan
    return `${idPrefix}-${String(numberAt(index)).padStart(idDigits, '0')}`
  }

  behaviourOf(index: number): Behaviour {
    const { firmware, count } = this.plan
    return shareOf(firmware.behaviours, this.#behaviours[index] ?? count, count) ?? SUCCEEDS
  }

  faultOf(index: number): Fault | undefined {
    const { faults, count } = this.plan
    return shareOf(faults, this.#faults[index] ?? count, count)?.fault
  }

  /** Timeline steps with the same percentage affect the same devices. */
  isTarget(index: number, percent: number): boolean {
    const { count } = this.plan
    return (this.#targets[index] ?? count) < Math.round((percent * count) / 100)
  }

  /** Returns the body of a message as text. Nearly all messages are created here. */
  text(index: number, nth: number, at: { readonly elapsedSec: number; readonly stamp: string }): string {
    let text = `{"timestamp":"${at.stamp}"`
    for (const field of this.#fields) {
      const value = this.#value(field, index, { nth, elapsedSec: at.elapsedSec })
      text += field.label + (typeof value === 'number' ? String(value) : JSON.stringify(value))
    }
    return `${text}}`
  }

  fields(index: number, nth: number, elapsedSec: number): JsonObject {
    return Object.fromEntries(
      this.#fields.map((field) => [field.name, this.#value(field, index, { nth, elapsedSec })]),
    )
  }

  #value(
    { generator, decision, walkAt }: PlannedField,
    device: number,
    { nth, elapsedSec }: { readonly nth: number; readonly elapsedSec: number },
  ): Json {
    const moment = { seed: this.seed, decision, device, nth, elapsedSec }
    if (walkAt < 0) return generate(generator, moment)
    const place = device * this.#walkCount + walkAt
    const value = generate(generator, moment, this.#walks[place])
    if (typeof value === 'number') this.#walks[place] = value
    return value
  }
}

/** A field, and the data that all its messages share. */
interface PlannedField extends Field {
  readonly label: string
  readonly decision: number
  /** The index among the walks of a device. -1 if the field is not a walk. */
  readonly walkAt: number
}

const EMPTY = new Uint32Array(0)
