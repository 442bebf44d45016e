// A watch as plain data, by the names of metrics and rules: for the checkpoint, and for a device whose rules change.
import type { CompiledRule } from './compile.ts'
import type { Fit } from './fit.ts'
import { type Tally, Watch } from './watch.ts'

type PackedMetric = readonly [name: string, at: number, receivedAt: number, value: number | string]
type PackedRule = readonly [
  id: string,
  key: string,
  truths: readonly number[],
  since: readonly number[],
  tally: readonly [count: number, startedAt: number, countedAt: number] | null,
  /** Each is of a leaf; a negative number is for what a repeat remembers besides. */
  series: readonly (readonly [leaf: number, values: readonly number[]])[],
]
/** Plain arrays, as they are saved. */
export type WatchMemory = readonly [
  receivedAt: number,
  metrics: readonly PackedMetric[],
  rules: readonly PackedRule[],
]

export interface MetricValue {
  readonly value: number | string
  readonly at: number
  readonly receivedAt: number
}

export function toMemory(watch: Watch): WatchMemory {
  const { fit, numbers, texts } = watch
  const metrics = fit.metrics.length
  const packed = fit.metrics.flatMap((name, metric): PackedMetric[] =>
    watch.isKnown(metric)
      ? [
          [
            name,
            numbers[metric] ?? 0,
            numbers[metrics + metric] ?? 0,
            texts?.[metric] ?? numbers[2 * metrics + metric] ?? 0,
          ],
        ]
      : [],
  )
  return [watch.receivedAt, packed, fit.rules.map((rule, i) => packRule(watch, rule, i))]
}

/** What is known of a device's telemetry without a watch. */
export interface KnownTelemetry {
  /** When any telemetry was last received, in microseconds; 0 is never. */
  readonly receivedAt: number
  readonly latestOf: (metric: string) => MetricValue | undefined
}

/** A watch of these rules that knows what the memory tells. What the memory does not tell is taken from `known`. */
export function restoreWatch(fit: Fit, memory: WatchMemory | undefined, known: KnownTelemetry): Watch {
  const watch = new Watch(fit)
  const [receivedAt, metrics, rules] = memory ?? [known.receivedAt, [], []]
  watch.receivedAt = receivedAt
  const remembered = new Map(
    metrics.map(([name, at, received, value]) => [name, { value, at, receivedAt: received }]),
  )
  fit.metrics.forEach((name, metric) => {
    const value = remembered.get(name) ?? known.latestOf(name)
    if (value !== undefined) watch.restoreValue(metric, value.value, value)
  })
  watch.takeFlagged()
  const byId = new Map(rules.map((rule) => [rule[0], rule]))
  fit.rules.forEach((rule, i) => {
    const packed = byId.get(rule.id)
    if (packed !== undefined && packed[1] === rule.key) unpackRule(watch, packed, i)
  })
  return watch
}

function packRule(watch: Watch, { id, key }: CompiledRule, rule: number): PackedRule {
  const { fit, numbers, series, tallies } = watch
  const places = fit.leavesOf[rule] ?? []
  const roots = (fit.rootFrom[rule + 1] ?? 0) - (fit.rootFrom[rule] ?? 0)
  const tally = tallies?.get(rule)
  return [
    id,
    key,
    places.map((place) => numbers[3 * fit.metrics.length + place] ?? 0),
    Array.from({ length: roots }, (_, root) => watch.since(rule, root)),
    tally === undefined ? null : [tally.count, tally.startedAt, tally.countedAt],
    series === undefined
      ? []
      : places.flatMap((place, leaf) => [
          ...(series.has(place) ? [[leaf, series.get(place) ?? []] as const] : []),
          ...(series.has(-1 - place) ? [[-1 - leaf, series.get(-1 - place) ?? []] as const] : []),
        ]),
  ]
}

function unpackRule(watch: Watch, [, , truths, since, tally, series]: PackedRule, rule: number): void {
  const { fit, numbers } = watch
  const places = fit.leavesOf[rule] ?? []
  const leafBase = 3 * fit.metrics.length
  places.forEach((place, leaf) => {
    numbers[leafBase + place] = truths[leaf] ?? 0
  })
  const rootBase = leafBase + fit.leaves.length + (fit.rootFrom[rule] ?? 0)
  since.forEach((at, root) => {
    numbers[rootBase + root] = at
  })
  if (tally !== null) {
    const [count, startedAt, countedAt] = tally
    const known: Tally = { count, startedAt, countedAt }
    watch.tallies = (watch.tallies ?? new Map()).set(rule, known)
  }
  for (const [leaf, values] of series) {
    const place = places[leaf < 0 ? -1 - leaf : leaf]
    if (place === undefined) continue
    watch.series = (watch.series ?? new Map()).set(leaf < 0 ? -1 - place : place, [...values])
  }
}
