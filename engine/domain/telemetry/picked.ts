// The newest values of a few chosen metrics. A page may ask for these of a whole fleet, so nothing is done per field.
import type { Json } from '../../../schemas/json.ts'
import { isNewer, type LatestField } from './age.ts'
import type { Shape } from './shape.ts'

/** Where a metric is among the values of a shape. */
export interface Pick {
  /** The place of the metric in the choice. */
  readonly choice: number
  readonly path: string
  readonly kind: 'number' | 'bool' | 'text' | 'cleared'
  /** The place among the shape's numbers, or among its texts. */
  readonly slot: number
}

export interface PickedValue {
  readonly value: Json
  /** Microseconds. */
  readonly at: number
}

export class MetricChoice {
  readonly metrics: readonly string[]
  readonly #choices: ReadonlyMap<string, number>
  readonly #picks = new Map<Shape, readonly Pick[]>()

  constructor(metrics: readonly string[]) {
    this.metrics = metrics
    this.#choices = new Map(metrics.map((metric, i) => [metric, i]))
  }

  choiceOf(metric: string): number | undefined {
    return this.#choices.get(metric)
  }

  /** Worked out once per shape: devices of a type share theirs. */
  picksOf(shape: Shape): readonly Pick[] {
    const known = this.#picks.get(shape)
    if (known !== undefined) return known
    const picks: Pick[] = []
    let [number, text] = [0, 0]
    for (const { path, metric, kind } of shape.fields) {
      const slot = kind === 'cleared' ? 0 : kind === 'text' ? text++ : number++
      const choice = this.#choices.get(metric)
      if (choice !== undefined) picks.push({ choice, path, kind, slot })
    }
    this.#picks.set(shape, picks)
    return picks
  }
}

export function keepNewer(newest: (LatestField | undefined)[], choice: number, field: LatestField): void {
  const known = newest[choice]
  if (known === undefined || isNewer(field, known)) newest[choice] = field
}
