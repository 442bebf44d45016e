// The rules that are judged for a device, as flat arrays. Devices with the same rules share one.
import type { Leaf } from '../../../schemas/alert-condition.ts'
import type { RuleId } from '../../../schemas/ids.ts'
import type { Comparison } from '../../../schemas/vocabulary.ts'
import type { Shape } from '../telemetry/shape.ts'
import { type CompiledRule, inhibitorsFirst } from './compile.ts'
import { isEventLeaf } from './leaves.ts'

/** A leaf of one of the rules. */
export interface FitLeaf {
  readonly leaf: Leaf
  /** Number of its rule. */
  readonly rule: number
  /** Number of its metric; -1 if it is about none. */
  readonly metric: number
}

const OPS: Readonly<Record<Comparison, number>> = {
  '>': 0,
  '>=': 1,
  '<': 2,
  '<=': 3,
  '==': 4,
  '!=': 5,
}

/** The values of a shape that are judged: pairs of a place among its numbers, or its texts, and a metric's number. */
interface Binding {
  readonly numbers: Int32Array
  readonly texts: Int32Array
}

const NOTHING: Int32Array = new Int32Array(0)
const BINDINGS_MAX = 64

export class Fit {
  /** They are judged in this order. */
  readonly rules: readonly CompiledRule[]
  readonly ruleIndex: ReadonlyMap<RuleId, number>
  readonly metrics: readonly string[]
  readonly metricIndex: ReadonlyMap<string, number>
  /** Those that compare numbers are first, metric by metric. */
  readonly leaves: readonly FitLeaf[]
  /** The leaves of each rule, by their number within the rule. */
  readonly leavesOf: readonly (readonly number[])[]
  /** Where the roots of each rule begin; one more at the end. A rule's clearing condition is a root behind the others. */
  readonly rootFrom: readonly number[]
  /** The leaves of a metric that compare numbers are from `from[metric]` to `from[metric + 1]`. */
  readonly from: Int32Array
  readonly op: Uint8Array
  readonly fire: Float64Array
  readonly clear: Float64Array
  /** The rule of each leaf. */
  readonly ruleOf: Int32Array
  /** Leaves of a metric that need more than a comparison of numbers. */
  readonly slow: readonly (readonly number[])[]
  /** A gap between values of a metric that is longer than this, in microseconds, may have been judged as absence. */
  readonly gap: Float64Array
  /** The rules that look at each metric. */
  readonly rulesOfMetric: readonly (readonly number[])[]
  /** Rules that look at telemetry as a whole. */
  readonly rulesOfAny: readonly number[]
  readonly anyGap: number
  /** The rules that look at the device's record or connection. */
  readonly rulesOfRecord: readonly number[]
  /** Leaves of events, and repeats of them. */
  readonly eventLeaves: readonly number[]
  /** Set to 1 for rules that must be judged. Every watch of this fit writes it, and it is cleared before the next does. */
  readonly flags: Uint8Array
  readonly #bindings = new Map<Shape, Binding>()
  #lastShape: Shape | undefined
  #lastBinding: Binding = { numbers: NOTHING, texts: NOTHING }

  constructor(fitting: readonly CompiledRule[]) {
    const rules = inhibitorsFirst(fitting)
    this.rules = rules
    this.flags = new Uint8Array(rules.length)
    this.ruleIndex = new Map(rules.map(({ id }, i) => [id, i]))
    const all = rules.flatMap(({ leaves }, rule) => leaves.map((leaf, local) => ({ leaf, rule, local })))
    this.metrics = [...new Set(all.flatMap(({ leaf }) => metricOf(leaf) ?? []))]
    this.metricIndex = new Map(this.metrics.map((metric, i) => [metric, i]))
    const placed = all.map((each) => {
      const metric = metricOf(each.leaf)
      return { ...each, metric: metric === undefined ? -1 : (this.metricIndex.get(metric) ?? -1) }
    })
    const simple = placed.filter(({ leaf }) => isSimple(leaf)).sort((a, b) => a.metric - b.metric)
    const ordered = [...simple, ...placed.filter(({ leaf }) => !isSimple(leaf))]
    this.leaves = ordered.map(({ leaf, rule, metric }) => ({ leaf, rule, metric }))
    const leavesOf: number[][] = rules.map(() => [])
    ordered.forEach(({ rule, local }, place) => {
      const own = leavesOf[rule]
      if (own !== undefined) own[local] = place
    })
    this.leavesOf = leavesOf
    const rootFrom = [0]
    for (const { roots, clear } of rules)
      rootFrom.push((rootFrom.at(-1) ?? 0) + roots.length + (clear === undefined ? 0 : 1))
    this.rootFrom = rootFrom
    this.from = Int32Array.from(
      [...this.metrics, ''],
      (_, m) => simple.filter(({ metric }) => metric < m).length,
    )
    this.op = Uint8Array.from(simple, ({ leaf }) => (leaf.kind === 'threshold' ? OPS[leaf.op] : 0))
    this.fire = Float64Array.from(simple, ({ leaf }) => (leaf.kind === 'threshold' ? Number(leaf.value) : 0))
    this.clear = Float64Array.from(simple, ({ leaf }) =>
      leaf.kind === 'threshold' ? (leaf.clear_value ?? Number.NaN) : Number.NaN,
    )
    this.ruleOf = Int32Array.from(this.leaves, ({ rule }) => rule)
    this.slow = this.metrics.map((_, m) =>
      this.leaves.flatMap(({ leaf, metric }, place) => (metric === m && !isSimple(leaf) ? [place] : [])),
    )
    this.gap = Float64Array.from(this.metrics, (_, m) =>
      Math.min(
        ...this.leaves.map((leaf) => (leaf.metric === m ? this.#gapOf(leaf) : Number.POSITIVE_INFINITY)),
      ),
    )
    this.rulesOfMetric = this.metrics.map((_, m) => this.#rulesWhere(({ metric }) => metric === m))
    this.rulesOfAny = this.#rulesWhere(({ leaf }) => isAboutAny(leaf))
    this.anyGap = Math.min(
      ...this.leaves.map((leaf) => (isAboutAny(leaf.leaf) ? this.#gapOf(leaf) : Number.POSITIVE_INFINITY)),
    )
    this.rulesOfRecord = this.#rulesWhere(({ leaf }) => isAboutRecord(leaf))
    this.eventLeaves = this.leaves.flatMap(({ leaf }, place) => (isAboutEvents(leaf) ? [place] : []))
  }

  bindingOf(shape: Shape): Binding {
    if (shape === this.#lastShape) return this.#lastBinding
    let binding = this.#bindings.get(shape)
    if (binding === undefined) {
      binding = { numbers: this.#placesOf(shape.pointMetrics), texts: this.#placesOf(shape.textMetrics) }
      // Shapes come and go. A dropped one is computed again when needed.
      if (this.#bindings.size >= BINDINGS_MAX) this.#bindings.clear()
      this.#bindings.set(shape, binding)
    }
    this.#lastShape = shape
    this.#lastBinding = binding
    return binding
  }

  #placesOf(metrics: readonly string[]): Int32Array {
    const pairs = metrics.flatMap((metric, place) => {
      const index = this.metricIndex.get(metric)
      return index === undefined ? [] : [place, index]
    })
    return pairs.length === 0 ? NOTHING : Int32Array.from(pairs)
  }

  #rulesWhere(isMeant: (leaf: FitLeaf) => boolean): readonly number[] {
    return [...new Set(this.leaves.filter(isMeant).map(({ rule }) => rule))]
  }

  #gapOf({ leaf, rule }: FitLeaf): number {
    const inner = leaf.kind === 'repeat' ? leaf.condition : leaf
    if (inner.kind === 'absence') return inner.for_sec * 1_000_000
    const settings = this.rules[rule]?.rule
    if (settings === undefined || settings.no_data === 'keep') return Number.POSITIVE_INFINITY
    return settings.no_data_after_sec * 1_000_000
  }
}

function metricOf(leaf: Leaf): string | undefined {
  if (leaf.kind === 'repeat') return metricOf(leaf.condition)
  return 'metric' in leaf ? leaf.metric : undefined
}

/** It compares numbers, or booleans as numbers. */
function isSimple(leaf: Leaf): boolean {
  return leaf.kind === 'threshold' && typeof leaf.value !== 'string'
}

function isAboutAny(leaf: Leaf): boolean {
  if (leaf.kind === 'repeat') return isAboutAny(leaf.condition)
  return leaf.kind === 'absence' && leaf.metric === undefined
}

function isAboutRecord(leaf: Leaf): boolean {
  if (leaf.kind === 'repeat') return isAboutRecord(leaf.condition)
  return leaf.kind === 'state' || leaf.kind === 'flapping' || leaf.kind === 'out_of_sync'
}

function isAboutEvents(leaf: Leaf): boolean {
  if (leaf.kind === 'repeat') return isAboutEvents(leaf.condition)
  return isEventLeaf(leaf)
}
