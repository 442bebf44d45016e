// The value that a condition judges, and the lines that it must not cross: what a chart of the rule shows.
import type { Condition } from '../../../../../schemas/alert-condition.ts'

export interface JudgedMetric {
  readonly metric: string
  readonly limits: readonly number[]
}

/** The first value of the tree that can be drawn; undefined if the condition judges none. */
export function judgedMetric(condition: Condition): JudgedMetric | undefined {
  if ('all' in condition) return first(condition.all)
  if ('any' in condition) return first(condition.any)
  if ('not' in condition) return judgedMetric(condition.not)
  switch (condition.kind) {
    case 'threshold':
      return { metric: condition.metric, limits: numbers(condition.value) }
    case 'range':
      return { metric: condition.metric, limits: numbers(condition.min, condition.max) }
    case 'rate':
      return { metric: condition.metric, limits: [] }
    case 'absence':
      return condition.metric === undefined ? undefined : { metric: condition.metric, limits: [] }
    case 'repeat':
      return judgedMetric(condition.condition)
    default:
      return undefined
  }
}

function first(conditions: readonly Condition[]): JudgedMetric | undefined {
  for (const condition of conditions) {
    const found = judgedMetric(condition)
    if (found !== undefined) return found
  }
  return undefined
}

const numbers = (...values: readonly unknown[]) =>
  values.filter((value): value is number => typeof value === 'number')
