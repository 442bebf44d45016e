// Judges rules on a device: whether their conditions hold, what mutes their alerts, and which moves follow.
import { Buffer } from 'node:buffer'
import type { Leaf } from '../../../schemas/alert-condition.ts'
import { Micros, Millis, type RuleId, toMillis } from '../../../schemas/ids.ts'
import type { Json } from '../../../schemas/json.ts'
import type { AlertEndReason, AlertSeverity } from '../../../schemas/vocabulary.ts'
import { resolveAlert, withOpenAlert } from './alert-updates.ts'
import { type Alert, type Alerts, openOf } from './alerts-part.ts'
import type { CompiledRule } from './compile.ts'
import { decide, type Findings, type Move } from './decide.ts'
import type { DeviceFacts } from './leaf-truth.ts'
import { leafOfAlert } from './leaves.ts'
import type { CompiledSilence } from './silence.ts'
import type { Subject } from './subject.ts'
import type { RefreshResult, Watch } from './watch.ts'

export interface JudgeContext {
  readonly device: Subject
  readonly facts: DeviceFacts
  readonly now: Micros
  readonly silences: readonly CompiledSilence[]
  /** A firmware is being installed on the device. */
  readonly isUpdating: boolean
  /** Leaves whose event happens now. */
  readonly events: ReadonlySet<number>
  readonly eventValue: Json
  /** These events are not read again after a crash, so their count is saved with the alert. */
  readonly keepsCount: boolean
  /** Another alert may be opened. */
  readonly hasRoom: boolean
  readonly message: (rule: CompiledRule, alert: Alert) => string
}

/** An occasion on a device that rules fit. */
export interface WatchedContext extends JudgeContext {
  readonly watch: Watch
  /** All rules are judged, because they or the device have changed. A changed rule that is still true is no occurrence. */
  readonly isReview?: boolean
}

export interface Judgement {
  readonly alerts: Alerts
  readonly moves: readonly Move[]
  /** A condition is true, but its alert waits for room. */
  readonly isHeldBack: boolean
}

const NEVER = Number.POSITIVE_INFINITY
const NO_EVENTS: ReadonlySet<number> = new Set()
/** One move may cause another at the same moment, but not endlessly. */
const ROUNDS_MAX = 5

/** Updates the watch for these rules, without deciding anything. */
export function updateWatch(rules: readonly number[], alerts: Alerts, occasion: WatchedContext): void {
  for (const rule of rules) {
    refresh(rule, alerts, occasion)
    if (occasion.events.size > 0) refresh(rule, alerts, { ...occasion, events: NO_EVENTS })
    // Judged by the next sweep.
    occasion.watch.deadline = 0
  }
}

/** Judges these rules. */
export function judgeRules(rules: readonly number[], alerts: Alerts, occasion: WatchedContext): Judgement {
  const { watch } = occasion
  let current = alerts
  let isHeldBack = false
  const moves: Move[] = []
  const waiting = new Set(rules)
  for (const rule of waiting) {
    const judged = judgeOne(rule, current, occasion)
    current = judged.alerts
    isHeldBack ||= judged.isHeldBack
    moves.push(...judged.moves)
    const moved = watch.fit.rules[rule]?.id
    // Judge the rules that it mutes, or muted, as well.
    if (judged.moves.length > 0 && moved !== undefined)
      for (const other of inhibitedBy(watch, moved)) if (!waiting.has(other)) waiting.add(other)
  }
  return { alerts: current, moves, isHeldBack }
}

/** Judges all rules of the device, and sets the watch's next deadline. */
export function judgeAll(
  alerts: Alerts,
  occasion: WatchedContext & { readonly reasonOf: (rule: RuleId) => AlertEndReason },
): Judgement {
  const { watch } = occasion
  const ended = endOrphans(alerts, watch, occasion)
  watch.deadline = NEVER
  const judged = judgeRules([...watch.fit.rules.keys()], ended.alerts, { ...occasion, isReview: true })
  return { ...judged, moves: [...ended.moves, ...judged.moves] }
}

/** Resolves alerts whose rule does not fit the device any more. */
export function endOrphans(
  alerts: Alerts,
  watch: Watch | undefined,
  { reasonOf, now }: { readonly reasonOf: (rule: RuleId) => AlertEndReason; readonly now: Micros },
): Judgement {
  let current = alerts
  const moves: Move[] = []
  for (const alert of alerts.open) {
    if (watch?.fit.ruleIndex.has(alert.ruleId) === true) continue
    const ended = resolveAlert(current, alert, { reason: reasonOf(alert.ruleId), now })
    current = ended.alerts
    moves.push({ event: 'resolved', alert: ended.alert, notice: alert.wasTold ? 'resolved' : undefined })
  }
  return { alerts: current, moves, isHeldBack: false }
}

function judgeOne(rule: number, alerts: Alerts, occasion: WatchedContext): Judgement {
  const first = decideRule(rule, alerts, occasion)
  if (occasion.events.size === 0) return first
  // An event is over at once. The time until its alert ends counts from now.
  const second = decideRule(rule, first.alerts, { ...occasion, events: NO_EVENTS })
  return {
    alerts: second.alerts,
    moves: [...first.moves, ...second.moves],
    isHeldBack: first.isHeldBack || second.isHeldBack,
  }
}

function decideRule(rule: number, alerts: Alerts, occasion: WatchedContext): Judgement {
  const { watch, now, device, message, hasRoom } = occasion
  const compiled = watch.fit.rules[rule]
  if (compiled === undefined) return { alerts, moves: [], isHeldBack: false }
  const refreshed = refresh(rule, alerts, occasion)
  const moves: Move[] = []
  let current = alerts
  let nextAt = 0
  let isHeldBack = false
  for (let round = 0; nextAt === 0 && round < ROUNDS_MAX; round++) {
    const findings = findingsOf(watch, rule, { alerts: current, refreshed, occasion })
    const decision = decide(current, {
      rule: compiled,
      subject: { deviceId: device.id },
      findings,
      now,
      hasRoom,
      message: (alert) => message(compiled, alert),
    })
    current = decision.alerts
    isHeldBack ||= decision.isHeldBack === true
    moves.push(...decision.moves)
    nextAt = decision.nextAt
    const open = openOf(current, compiled.id)
    if (open === undefined) watch.tallies?.delete(rule)
    else if (open.startedAt !== watch.tallies?.get(rule)?.startedAt) {
      watch.tallies ??= new Map()
      watch.tallies.set(rule, { count: open.count, startedAt: open.startedAt, countedAt: now })
    }
  }
  const open = openOf(current, compiled.id)
  const tally = watch.tallies?.get(rule)
  if (occasion.keepsCount && open !== undefined && tally !== undefined && tally.count > open.count)
    current = withOpenAlert(current, { ...open, count: tally.count, countedAt: Micros(tally.countedAt) })
  const isOpen = open !== undefined
  const silenceChangesAt = isOpen ? nextSilenceChange(compiled, occasion) : NEVER
  const due = Math.min(
    nextAt,
    Math.ceil(refreshed.nextAt / 1_000),
    compiled.window(toMillis(now)).changesAt,
    silenceChangesAt,
  )
  if (due < watch.deadline) watch.deadline = due
  return { alerts: current, moves, isHeldBack }
}

function refresh(rule: number, alerts: Alerts, occasion: WatchedContext): RefreshResult {
  const { watch, now, facts, events } = occasion
  const compiled = watch.fit.rules[rule]
  const { isInside = false, since = 0 } = compiled?.window(toMillis(now)) ?? {}
  const { status, statusSince } = facts.device
  const stops = compiled?.rule.during_maintenance === 'off'
  const isOpen = isInside && !(stops && status === 'maintenance')
  const openSince = Math.max(since, stops ? statusSince : 0) * 1_000
  const refreshed = watch.refresh(rule, { facts, now, isOpen, openSince, events })
  const open = compiled && openOf(alerts, compiled.id)
  const isOccurrence =
    refreshed.became === 'true_again' || (refreshed.became === 'true' && !occasion.isReview)
  if (isOccurrence && open !== undefined) countOccurrence(rule, open, occasion)
  return refreshed
}

/** Counts from the alert's own count, so that an event that is read again counts once. Events that are not read again count
 *  even if they happen at the same moment. */
function countOccurrence(rule: number, open: Alert, { watch, now, keepsCount }: WatchedContext): void {
  watch.tallies ??= new Map()
  const known = watch.tallies.get(rule)
  const tally =
    known?.startedAt === open.startedAt
      ? known
      : { count: open.count, startedAt: open.startedAt, countedAt: open.countedAt }
  watch.tallies.set(rule, tally)
  if (keepsCount ? now < tally.countedAt : now <= tally.countedAt) return
  tally.count++
  tally.countedAt = now
}

/** Since when the rule's conditions have been true or false. */
export function sinceOf(watch: Watch, rule: number): Pick<Findings, 'since' | 'clearSince'> {
  const { roots, clear } = watch.fit.rules[rule] ?? { roots: [], clear: undefined }
  return {
    since: roots.map((_, root) => watch.since(rule, root)),
    clearSince: clear === undefined ? undefined : watch.since(rule, roots.length),
  }
}

/** The findings of a rule on the device, for a decision or for display. */
export function findingsOf(
  watch: Watch,
  rule: number,
  {
    alerts,
    refreshed,
    occasion,
  }: {
    readonly alerts: Alerts
    readonly refreshed: RefreshResult | undefined
    readonly occasion: JudgeContext
  },
): Findings {
  const compiled = watch.fit.rules[rule]
  if (compiled === undefined) throw new RangeError(`no rule ${rule}`)
  const { roots, leaves, id } = compiled
  const open = openOf(alerts, id)
  // An open alert stays about its leaf, whichever leaves are true now.
  const own = open?.ruleKey === compiled.key ? leafOfAlert(leaves, open, refreshed?.leaf) : -1
  const firstMetric = Math.max(
    0,
    leaves.findIndex((leaf) => 'metric' in leaf),
  )
  const leafNumber = own === -1 ? (refreshed?.leaf ?? firstMetric) : own
  const leaf = leaves[leafNumber] ?? { kind: 'heartbeat' as const }
  const place = watch.fit.leavesOf[rule]?.[leafNumber] ?? -1
  const { value, receivedAt } = watch.valueOf(place)
  const tally = watch.tallies?.get(rule)
  const isCounted = tally !== undefined && tally.startedAt === open?.startedAt
  const { since, clearSince } = sinceOf(watch, rule)
  // Not spread: an object that grows by so many fields costs ten times as much, in each judgement.
  return {
    since,
    clearSince,
    count: isCounted ? tally.count : (open?.count ?? 1),
    type: refreshed?.isNoData === true ? 'no_data' : leaf.kind,
    metric: 'metric' in leaf ? leaf.metric : undefined,
    value: displayedValue(leaf, value, receivedAt, occasion),
    lastValueAt: receivedAt > 0 ? Millis(Math.floor(receivedAt / 1_000)) : undefined,
    thresholds:
      compiled.rule.levels === null ? roots.map(() => thresholdOf(leaf, value)) : levelValues(compiled),
    mutedBy: (severity) => mutedBy(compiled, severity, alerts, occasion),
  }
}

function levelValues({ roots, leaves }: CompiledRule): readonly Json[] {
  return roots.map(({ node }) => {
    const leaf = 'leaf' in node ? leaves[node.leaf] : undefined
    return leaf === undefined ? null : thresholdOf(leaf, undefined)
  })
}

function displayedValue(
  leaf: Leaf,
  value: number | string | undefined,
  receivedAt: number,
  occasion: JudgeContext,
): Json {
  const { device, now, eventValue, facts } = occasion
  switch (leaf.kind) {
    case 'state':
      return leaf.in === undefined ? facts.connected : device.status
    case 'absence':
      return receivedAt > 0 ? Math.floor((now - receivedAt) / 1_000_000) : null
    case 'log':
    case 'command_failed':
    case 'dead_letter':
    case 'deployment_failed':
      return eventValue
    case 'threshold':
      // Booleans are stored as 0 and 1.
      return typeof leaf.value === 'boolean' && (value === 0 || value === 1) ? value === 1 : limitValue(value)
    default:
      return limitValue(value)
  }
}

function limitValue(value: number | string | undefined): Json {
  if (value === undefined) return null
  return typeof value === 'string' && Buffer.byteLength(value) > VALUE_BYTES_MAX
    ? value.slice(0, VALUE_BYTES_MAX / 4)
    : value
}
const VALUE_BYTES_MAX = 1_024

function thresholdOf(leaf: Leaf, value: number | string | undefined): Json {
  switch (leaf.kind) {
    case 'threshold':
      return leaf.value
    case 'range':
      return typeof value === 'number' &&
        leaf.min !== undefined &&
        (leaf.max === undefined || value < leaf.max)
        ? leaf.min
        : (leaf.max ?? leaf.min ?? null)
    case 'absence':
    case 'out_of_sync':
      return leaf.for_sec
    case 'rate':
      return leaf.per_sec
    case 'repeat':
      return leaf.times
    case 'state':
      return leaf.in === undefined ? (leaf.connected ?? null) : leaf.in.join(', ')
    default:
      return null
  }
}

/** Everything that mutes an alert of this rule and severity. */
export function mutedBy(
  { rule, id, isAboutValues }: CompiledRule,
  severity: AlertSeverity,
  alerts: Alerts,
  { device, silences, now, isUpdating }: Pick<JudgeContext, 'device' | 'silences' | 'now' | 'isUpdating'>,
): readonly string[] {
  const muted: string[] = []
  for (const silence of silences)
    if (silence.matches(device, id, severity) && silence.stateAt(toMillis(now)).isInside)
      muted.push(`silence:${silence.id}`)
  if (rule.during_maintenance === 'mute' && device.status === 'maintenance') muted.push('maintenance')
  if (rule.inhibit_when_offline && isAboutValues && device.status === 'offline') muted.push('offline')
  if (isUpdating) muted.push('firmware_update')
  for (const other of rule.inhibited_by)
    if (alerts.open.some(({ ruleId }) => ruleId === other)) muted.push(`rule:${other}`)
  return muted
}

/** When a silence that matches the rule begins or ends next. */
function nextSilenceChange({ id }: CompiledRule, { device, silences, now }: JudgeContext): number {
  let until = NEVER
  for (const silence of silences)
    if (SEVERITIES.some((severity) => silence.matches(device, id, severity)))
      until = Math.min(until, silence.stateAt(toMillis(now)).changesAt)
  return until
}
const SEVERITIES = ['info', 'warning', 'critical'] as const

function inhibitedBy(watch: Watch, id: RuleId): readonly number[] {
  return watch.fit.rules.flatMap(({ rule }, i) => (rule.inhibited_by.includes(id) ? [i] : []))
}
