// The newest values of a few chosen metrics. A page may ask for them for a whole fleet, so only the chosen fields of a
// device are looked at.
import type { Json } from '../../../schemas/json.ts'
import { isNewer, type LatestField } from './age.ts'
import type { Shape, ShapeField } from './shape.ts'

/** A field of a shape whose metric was chosen. `choice` is the index of the metric in the choice. */
interface PickedField {
  readonly choice: number
  readonly field: ShapeField
}

export interface PickedValue {
  readonly value: Json
  /** Microseconds. */
  readonly at: number
}

export class MetricChoice {
  readonly metrics: readonly string[]
  readonly #choices: ReadonlyMap<string, number>
  readonly #picks = new Map<Shape, readonly PickedField[]>()

  constructor(metrics: readonly string[]) {
    this.metrics = metrics
    this.#choices = new Map(metrics.map((metric, i) => [metric, i]))
  }

  choiceOf(metric: string): number | undefined {
    return this.#choices.get(metric)
  }

  /** Computed once per shape, because devices of one type share their shapes. */
  picksOf(shape: Shape): readonly PickedField[] {
    const known = this.#picks.get(shape)
    if (known !== undefined) return known
    const picks = shape.fields.flatMap((field) => {
      const choice = this.#choices.get(field.metric)
      return choice === undefined ? [] : { choice, field }
    })
    this.#picks.set(shape, picks)
    return picks
  }
}

export function keepNewer(newest: (LatestField | undefined)[], choice: number, field: LatestField): void {
  const known = newest[choice]
  if (known === undefined || isNewer(field, known)) newest[choice] = field
}
