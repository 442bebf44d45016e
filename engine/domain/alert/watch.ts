// What a device remembers for judging its rules: the newest value of each metric that they use, the truth of each leaf, and
// since when each condition has been true. These are vitals: they are saved in checkpoints and restored from the log.
//
// W1. A value that is older than the newest one of its metric only shows that the metric is not absent.
// W2. Nothing is allocated while nothing moves: everything is in one array of numbers, whose places the `Fit` knows.
import type { Report } from '../telemetry/payload.ts'
import type { Shape, SlotValues } from '../telemetry/shape.ts'
import type { CompiledRule, Node } from './compile.ts'
import type { Fit } from './fit.ts'
import {
  comparisonHolds,
  type DeviceFacts,
  isOutside,
  type LeafState,
  leafState,
  meetsThreshold,
  TRUTH,
} from './leaf-truth.ts'
import { addSample, rateOf } from './rate.ts'

/** How often an open alert's condition became true. */
export interface Tally {
  count: number
  /** The alert that is counted for. */
  readonly startedAt: number
  /** The time up to which it has been counted, in microseconds. */
  countedAt: number
}

const NEVER = Number.POSITIVE_INFINITY
const NO_EDGES: readonly number[] = []

export class Watch {
  readonly fit: Fit
  /** Numbers for each metric: event time of the newest value, its receive time, the value; then each leaf's truth; then for each root the
   *  time since when it is true, negative if it is false, 0 if that was never known. */
  readonly numbers: number[]
  /** Receive time of any telemetry, in microseconds. */
  receivedAt = 0
  /** The newest values that are texts, by metric. */
  texts: (string | undefined)[] | undefined
  /** Samples of rates, and the times of repeats, by leaf. */
  series: Map<number, number[]> | undefined
  tallies: Map<number, Tally> | undefined
  /** The time by which the rules must be judged even if nothing is received, in milliseconds. */
  deadline = 0

  constructor(fit: Fit) {
    this.fit = fit
    const metrics = fit.metrics.length
    const leaves = fit.leaves.length
    const roots = fit.rootFrom.at(-1) ?? 0
    // Begins with fractions and without a hole, so that the array holds nothing but doubles for good: what is read from
    // it is no object then. The copy has no room that is not used.
    const places: number[] = []
    for (let place = 0; place < 3 * metrics + leaves + roots; place++) places.push(0.5)
    const numbers = places.slice()
    numbers.fill(-1, 0, metrics)
    numbers.fill(0, metrics, 3 * metrics)
    numbers.fill(TRUTH.unknown, 3 * metrics, 3 * metrics + leaves)
    numbers.fill(0, 3 * metrics + leaves)
    this.numbers = numbers
  }

  /** Takes in a message. Returns true if a rule must be judged. */
  feedShape(shape: Shape, values: SlotValues, at: number, receivedAt: number): boolean {
    const { fit, numbers } = this
    const { from, flags, ruleOf } = fit
    let isFlagged = this.#touch(receivedAt)
    const binding = fit.bindingOf(shape)
    const pairs = binding.numbers
    const metrics = fit.metrics.length
    const leafBase = 3 * metrics
    for (let pair = 0; pair < pairs.length; pair += 2) {
      const metric = pairs[pair + 1] ?? 0
      const pause = receivedAt - (numbers[metrics + metric] ?? 0)
      numbers[metrics + metric] = receivedAt
      if (pause > (fit.gap[metric] ?? NEVER)) isFlagged = this.#flagMetric(metric)
      // by W1
      if (at < (numbers[metric] ?? 0)) continue
      const value = values.numbers[pairs[pair] ?? 0] ?? 0
      numbers[metric] = at
      numbers[2 * metrics + metric] = value
      const end = from[metric + 1] ?? 0
      for (let leaf = from[metric] ?? 0; leaf < end; leaf++) {
        const wasTrue = numbers[leafBase + leaf] === TRUTH.yes
        const isTrue = isReached(fit, leaf, value, wasTrue)
        const after = isTrue ? TRUTH.yes : TRUTH.no
        if (numbers[leafBase + leaf] === after) continue
        numbers[leafBase + leaf] = after
        flags[ruleOf[leaf] ?? 0] = 1
        isFlagged = true
      }
      if (this.texts !== undefined) this.texts[metric] = undefined
      const slow = fit.slow[metric]
      if (slow !== undefined && slow.length > 0 && this.#feedSlow(slow, value, at)) isFlagged = true
    }
    const { texts } = binding
    for (let pair = 0; pair < texts.length; pair += 2) {
      const text = values.texts[texts[pair] ?? 0] ?? ''
      if (this.#feedOne(texts[pair + 1] ?? 0, text, { at, receivedAt })) isFlagged = true
    }
    return isFlagged
  }

  /** Takes in reports. Only the newest value of each metric counts. */
  feedReports(reports: readonly Report[], receivedAt: number): boolean {
    let isFlagged = this.#touch(receivedAt)
    const { metricIndex } = this.fit
    if (metricIndex.size === 0) return isFlagged
    const newest = new Map<number, { readonly value: number | string; readonly at: number }>()
    for (const { at, fields } of reports)
      for (let i = 0; i < fields.length; i++) {
        const metric = metricIndex.get(fields.metrics[i] ?? '')
        const given = fields.values[i]
        const value = typeof given === 'boolean' ? Number(given) : given
        if (metric === undefined || (typeof value !== 'number' && typeof value !== 'string')) continue
        if (at >= (newest.get(metric)?.at ?? 0)) newest.set(metric, { value, at })
      }
    for (const [metric, { value, at }] of newest)
      if (this.#feedOne(metric, value, { at, receivedAt })) isFlagged = true
    return isFlagged
  }

  /** A value known from before, for a metric that a new rule looks at. */
  restoreValue(
    metric: number,
    value: number | string,
    at: { readonly at: number; readonly receivedAt: number },
  ): void {
    this.#feedOne(metric, value, at)
  }

  isKnown(metric: number): boolean {
    return (this.numbers[metric] ?? -1) >= 0
  }

  /** Takes the rules that were flagged, and clears the flags. */
  takeFlagged(): readonly number[] {
    const { flags } = this.fit
    const taken: number[] = []
    for (let rule = 0; rule < flags.length; rule++)
      if (flags[rule] === 1) {
        flags[rule] = 0
        taken.push(rule)
      }
    return taken
  }

  /** Since when the root has been true, negative if it is false. */
  since(rule: number, root: number): number {
    return this.numbers[this.#rootAt(rule, root)] ?? 0
  }

  /** Judges the rule's tree anew. Returns the time at which time alone changes it, in microseconds. */
  refresh(
    rule: number,
    about: {
      readonly facts: DeviceFacts
      readonly now: number
      /** The rule judges now. While it does not, its condition is false. */
      readonly isOpen: boolean
      /** Microseconds. */
      readonly openSince: number
      readonly events: ReadonlySet<number>
    },
  ): RefreshResult {
    const { fit, numbers } = this
    const compiled = fit.rules[rule]
    const places = fit.leavesOf[rule]
    const refreshed: RefreshResult = { nextAt: NEVER, isNoData: false, leaf: undefined, became: undefined }
    if (compiled === undefined || places === undefined) return refreshed
    const states = places.map((place) => this.#leafState(place, compiled, about))
    for (const { nextAt } of states) refreshed.nextAt = Math.min(refreshed.nextAt, nextAt)
    const nodes = [
      ...compiled.roots.map(({ node }) => node),
      ...(compiled.clear === undefined ? [] : [compiled.clear]),
    ]
    const roots = compiled.roots.length
    let wasTrue = false
    let wasJudged = false
    let isAnyTrue = false
    nodes.forEach((node, root) => {
      const { truth, changedAt } = judged(node, states)
      const at = this.#rootAt(rule, root)
      const before = numbers[at] ?? 0
      // What clears an alert does so at any time.
      const isTrue = truth === TRUTH.yes && (about.isOpen || root >= roots)
      if (root < roots) {
        wasTrue ||= before > 0
        wasJudged ||= before !== 0
        isAnyTrue ||= isTrue
      }
      if (isTrue === before > 0) return
      if (!isTrue && before === 0) return
      // Not before the previous change, and not later than now.
      const from = root >= roots ? changedAt : about.isOpen ? Math.max(changedAt, about.openSince) : about.now
      const when = Math.min(about.now, Math.max(from, Math.abs(before) + 1))
      numbers[at] = isTrue ? when : -when
    })
    if (isAnyTrue && !wasTrue) refreshed.became = wasJudged ? 'true_again' : 'true'
    const yes = states.findIndex(({ truth }) => truth === TRUTH.yes)
    refreshed.leaf = yes === -1 ? undefined : yes
    refreshed.isNoData = yes !== -1 && (states[yes]?.isNoData ?? false)
    return refreshed
  }

  /** The newest value that a leaf judges, and when it was received in microseconds. */
  valueOf(place: number): { readonly value: number | string | undefined; readonly receivedAt: number } {
    const { fit, numbers } = this
    const { metric, leaf } = fit.leaves[place] ?? { metric: -1, leaf: undefined }
    const metrics = fit.metrics.length
    if (metric < 0 || !this.isKnown(metric))
      return { value: undefined, receivedAt: metric < 0 ? this.receivedAt : 0 }
    const receivedAt = numbers[metrics + metric] ?? 0
    if (leaf?.kind === 'rate')
      return { value: rateOf(this.series?.get(place) ?? [], leaf.window_sec), receivedAt }
    return { value: this.texts?.[metric] ?? numbers[2 * metrics + metric], receivedAt }
  }

  #touch(receivedAt: number): boolean {
    const pause = receivedAt - this.receivedAt
    this.receivedAt = receivedAt
    if (!(pause > this.fit.anyGap)) return false
    for (const rule of this.fit.rulesOfAny) this.fit.flags[rule] = 1
    return true
  }

  #feedOne(
    metric: number,
    value: number | string,
    { at, receivedAt }: { readonly at: number; readonly receivedAt: number },
  ): boolean {
    const { fit, numbers } = this
    const metrics = fit.metrics.length
    const pause = receivedAt - (numbers[metrics + metric] ?? 0)
    numbers[metrics + metric] = receivedAt
    let isFlagged = pause > (fit.gap[metric] ?? NEVER) && this.#flagMetric(metric)
    // by W1
    if (at < (numbers[metric] ?? 0)) return isFlagged
    numbers[metric] = at
    const isText = typeof value === 'string'
    if (isText) this.texts ??= []
    if (this.texts !== undefined) this.texts[metric] = isText ? value : undefined
    if (!isText) numbers[2 * metrics + metric] = value
    const simple = Array.from({ length: (fit.from[metric + 1] ?? 0) - (fit.from[metric] ?? 0) }, (_, i) => i)
    const places = [...simple.map((i) => (fit.from[metric] ?? 0) + i), ...(fit.slow[metric] ?? [])]
    if (this.#feedSlow(places, value, at)) isFlagged = true
    return isFlagged
  }

  #feedSlow(places: readonly number[], value: number | string, at: number): boolean {
    const { fit, numbers } = this
    const leafBase = 3 * fit.metrics.length
    let isFlagged = false
    for (const place of places) {
      const { leaf } = fit.leaves[place] ?? {}
      if (leaf === undefined) continue
      const before = numbers[leafBase + place] ?? 0
      const inner = leaf.kind === 'repeat' ? leaf.condition : leaf
      let isTrue = before === TRUTH.yes
      if (inner.kind === 'threshold') isTrue = meetsThreshold(value, inner, isTrue)
      else if (typeof value === 'string') continue
      else if (inner.kind === 'range') isTrue = isOutside(value, inner, isTrue)
      else if (inner.kind === 'rate') {
        this.series ??= new Map()
        const samples = addSample(this.series.get(place) ?? [], { at, value }, inner.window_sec)
        this.series.set(place, samples)
        const rate = rateOf(samples, inner.window_sec)
        if (rate === undefined) continue
        isTrue = comparisonHolds(inner.op, rate, inner.per_sec)
      } else continue
      const after = isTrue ? TRUTH.yes : TRUTH.no
      if (after === before) continue
      numbers[leafBase + place] = after
      fit.flags[fit.ruleOf[place] ?? 0] = 1
      isFlagged = true
    }
    return isFlagged
  }

  #flagMetric(metric: number): true {
    for (const rule of this.fit.rulesOfMetric[metric] ?? []) this.fit.flags[rule] = 1
    return true
  }

  #leafState(
    place: number,
    { rule }: CompiledRule,
    { facts, now, events }: Parameters<Watch['refresh']>[1],
  ): LeafState {
    const { fit, numbers } = this
    const { leaf, metric } = fit.leaves[place] ?? NO_LEAF
    const metrics = fit.metrics.length
    const receivedAt = metric < 0 ? this.receivedAt : (numbers[metrics + metric] ?? 0)
    const truth = numbers[3 * metrics + place] ?? TRUTH.unknown
    const memory = { truth, receivedAt, edges: NO_EDGES, isNow: events.has(place) }
    const state: LeafState = { truth, changedAt: now, nextAt: NEVER, isNoData: false }
    if (leaf.kind !== 'repeat') {
      leafState(leaf, memory, { rule, facts, now }, state)
      return state
    }
    const inner: LeafState = { ...state }
    leafState(leaf.condition, memory, { rule, facts, now }, inner)
    this.#noteRepeat(place, inner, leaf.times)
    const edges = this.series?.get(place) ?? []
    leafState(leaf, { ...memory, edges }, { rule, facts, now }, state)
    state.nextAt = Math.min(state.nextAt, inner.nextAt)
    return state
  }

  /** The times of a repeat's condition becoming true; the last number tells whether it is true now. */
  #noteRepeat(place: number, inner: LeafState, times: number): void {
    this.series ??= new Map()
    const edges = this.series.get(place) ?? []
    const key = -1 - place
    const wasTrue = (this.series.get(key)?.length ?? 0) > 0
    const isTrue = inner.truth === TRUTH.yes
    if (isTrue && !wasTrue) this.series.set(place, [...edges, inner.changedAt].slice(-times))
    if (isTrue !== wasTrue) this.series.set(key, isTrue ? [1] : [])
  }

  #rootAt(rule: number, root: number): number {
    const { fit } = this
    return 3 * fit.metrics.length + fit.leaves.length + (fit.rootFrom[rule] ?? 0) + root
  }
}

/** Whether a leaf that compares numbers holds. A function of numbers alone, so that none is allocated (W2). */
function isReached(fit: Fit, leaf: number, value: number, wasTrue: boolean): boolean {
  const fire = fit.fire[leaf] ?? 0
  const op = fit.op[leaf] ?? 0
  let isTrue: boolean
  if (op === 0) isTrue = value > fire
  else if (op === 1) isTrue = value >= fire
  else if (op === 2) isTrue = value < fire
  else if (op === 3) isTrue = value <= fire
  else if (op === 4) isTrue = value === fire
  else isTrue = value !== fire
  if (isTrue || !wasTrue) return isTrue
  // Without a value to clear it, it is NaN, and both comparisons are false.
  const clear = fit.clear[leaf] ?? Number.NaN
  return op < 2 ? value > clear : value < clear
}

const NO_LEAF = { leaf: { kind: 'heartbeat' }, metric: -1, rule: -1 } as const

export interface RefreshResult {
  /** Microseconds. */
  nextAt: number
  /** It is true because a metric is missing. */
  isNoData: boolean
  /** The first leaf that is true, by its number within the rule. */
  leaf: number | undefined
  /** What the condition became just now. It is `true` if it was never judged before, or not since its rule changed. */
  became: 'true' | 'true_again' | undefined
}

interface NodeTruth {
  readonly truth: number
  readonly changedAt: number
}

/** The tree's truth, and the time of its last change at the latest. */
function judged(node: Node, states: readonly LeafState[]): NodeTruth {
  if ('leaf' in node) return states[node.leaf] ?? { truth: TRUTH.unknown, changedAt: 0 }
  if ('not' in node) {
    const { truth, changedAt } = judged(node.not, states)
    return { truth: TRUTH.yes - truth, changedAt }
  }
  const isAll = 'all' in node
  const parts = (isAll ? node.all : node.any).map((each) => judged(each, states))
  const truths = parts.map(({ truth }) => truth)
  const truth = isAll ? Math.min(...truths) : Math.max(...truths)
  // What decides alone: one false part of all, one true part of any. Else every part does.
  const decisive = parts.filter((part) => part.truth === truth).map(({ changedAt }) => changedAt)
  const isByOne = isAll ? truth === TRUTH.no : truth === TRUTH.yes
  return { truth, changedAt: isByOne ? Math.min(...decisive) : Math.max(...decisive) }
}
