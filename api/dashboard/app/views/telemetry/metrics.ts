import { LIMITS } from '../../limits.ts'

export interface Metric {
  readonly metric: string
  readonly unit: string | null
  readonly type?: string | null
  readonly timestamp: string
}

/** The metrics that names and patterns (`battery.*`) choose. Without any, the first ones, of numbers if there are some. */
export function chosenMetrics<M extends Metric>(
  names: readonly string[],
  metrics: readonly M[],
): readonly M[] {
  const numbers = metrics.filter(({ type }) => type !== 'boolean')
  const found =
    names.length === 0
      ? (numbers.length > 0 ? numbers : metrics).slice(0, 2)
      : metrics.filter(({ metric }) => names.some((name) => fits(name, metric)))
  return found.slice(0, LIMITS.chartSeriesMax)
}

/** The names that are drawn where a metric need not be known: a pattern is those of the known ones that it fits. */
export function drawnNames(names: readonly string[], metrics: readonly Metric[]): readonly string[] {
  const found = names.flatMap((name) =>
    name.endsWith('*') ? metrics.map(({ metric }) => metric).filter((metric) => fits(name, metric)) : name,
  )
  return [...new Set(found)].slice(0, LIMITS.chartSeriesMax)
}

/** Those of the chosen metrics that an earlier answer has, so that their charts stay while others are asked for. Undefined
 *  if it has none of them. */
export function answeredNames(
  chosen: readonly string[],
  asked: readonly string[],
): readonly string[] | undefined {
  const found = chosen.filter((name) => asked.includes(name))
  return found.length > 0 || chosen.length === 0 ? found : undefined
}

const fits = (name: string, metric: string) =>
  name.endsWith('*') ? metric.startsWith(name.slice(0, -1)) : metric === name
