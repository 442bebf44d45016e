// Judges rules on a device: whether their conditions hold, what mutes their alerts, and which moves follow.
import { Buffer } from 'node:buffer'
import type { Leaf } from '../../../schemas/alert-condition.ts'
import { Micros, Millis, type RuleId, toMillis } from '../../../schemas/ids.ts'
import type { Json } from '../../../schemas/json.ts'
import type { AlertEndReason, AlertSeverity } from '../../../schemas/vocabulary.ts'
import { type Alert, type Alerts, openOf } from './alerts-part.ts'
import type { CompiledRule } from './compile.ts'
import { decide, type Findings, type Move } from './decide.ts'
import type { Sight } from './leaf-truth.ts'
import { end, withOpen } from './moved.ts'
import type { CompiledSilence } from './silence.ts'
import type { Subject } from './subject.ts'
import type { RefreshResult, Watch } from './watch.ts'

export interface Occasion {
  readonly device: Subject
  readonly sight: Sight
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
export interface WatchedOccasion extends Occasion {
  readonly watch: Watch
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
export function look(rules: readonly number[], alerts: Alerts, occasion: WatchedOccasion): void {
  for (const rule of rules) {
    refresh(rule, alerts, occasion)
    if (occasion.events.size > 0) refresh(rule, alerts, { ...occasion, events: NO_EVENTS })
    // Judged by the next sweep.
    occasion.watch.deadline = 0
  }
}

/** Judges these rules. */
export function judge(rules: readonly number[], alerts: Alerts, occasion: WatchedOccasion): Judgement {
  const { watch } = occasion
  let so = alerts
  let isHeldBack = false
  const moves: Move[] = []
  const waiting = new Set(rules)
  for (const rule of waiting) {
    const judged = judgeOne(rule, so, occasion)
    so = judged.alerts
    isHeldBack ||= judged.isHeldBack
    moves.push(...judged.moves)
    const moved = watch.fit.rules[rule]?.id
    // Judge the rules that it mutes, or muted, as well.
    if (judged.moves.length > 0 && moved !== undefined)
      for (const other of inhibitedBy(watch, moved)) if (!waiting.has(other)) waiting.add(other)
  }
  return { alerts: so, moves, isHeldBack }
}

/** Judges all rules of the device, and sets the watch's next deadline. */
export function judgeAll(
  alerts: Alerts,
  occasion: WatchedOccasion & { readonly reasonOf: (rule: RuleId) => AlertEndReason },
): Judgement {
  const { watch } = occasion
  const ended = endOrphans(alerts, watch, occasion)
  watch.deadline = NEVER
  const judged = judge([...watch.fit.rules.keys()], ended.alerts, occasion)
  return { ...judged, moves: [...ended.moves, ...judged.moves] }
}

/** Resolves alerts whose rule does not fit the device any more. */
export function endOrphans(
  alerts: Alerts,
  watch: Watch | undefined,
  { reasonOf, now }: { readonly reasonOf: (rule: RuleId) => AlertEndReason; readonly now: Micros },
): Judgement {
  let so = alerts
  const moves: Move[] = []
  for (const alert of alerts.open) {
    if (watch?.fit.ruleIndex.has(alert.ruleId) === true) continue
    const ended = end(so, alert, { reason: reasonOf(alert.ruleId), now })
    so = ended.alerts
    moves.push({ event: 'resolved', alert: ended.alert, notice: alert.wasTold ? 'resolved' : undefined })
  }
  return { alerts: so, moves, isHeldBack: false }
}

function judgeOne(rule: number, alerts: Alerts, occasion: WatchedOccasion): Judgement {
  const first = settle(rule, alerts, occasion)
  if (occasion.events.size === 0) return first
  // An event is over at once. The time until its alert ends counts from now.
  const second = settle(rule, first.alerts, { ...occasion, events: NO_EVENTS })
  return {
    alerts: second.alerts,
    moves: [...first.moves, ...second.moves],
    isHeldBack: first.isHeldBack || second.isHeldBack,
  }
}

function settle(rule: number, alerts: Alerts, occasion: WatchedOccasion): Judgement {
  const { watch, now, device, message, hasRoom } = occasion
  const compiled = watch.fit.rules[rule]
  if (compiled === undefined) return { alerts, moves: [], isHeldBack: false }
  const refreshed = refresh(rule, alerts, occasion)
  const moves: Move[] = []
  let so = alerts
  let nextAt = 0
  let isHeldBack = false
  for (let round = 0; nextAt === 0 && round < ROUNDS_MAX; round++) {
    const findings = findingsOf(watch, rule, { alerts: so, refreshed, occasion })
    const decision = decide(so, {
      rule: compiled,
      subject: { deviceId: device.id },
      findings,
      now,
      hasRoom,
      message: (alert) => message(compiled, alert),
    })
    so = decision.alerts
    isHeldBack ||= decision.isHeldBack === true
    moves.push(...decision.moves)
    nextAt = decision.nextAt
    const open = openOf(so, compiled.id)
    if (open === undefined) watch.tallies?.delete(rule)
    else if (open.startedAt !== watch.tallies?.get(rule)?.startedAt) {
      watch.tallies ??= new Map()
      watch.tallies.set(rule, { count: open.count, startedAt: open.startedAt, countedAt: now })
    }
  }
  const open = openOf(so, compiled.id)
  const tally = watch.tallies?.get(rule)
  if (occasion.keepsCount && open !== undefined && tally !== undefined && tally.count > open.count)
    so = withOpen(so, { ...open, count: tally.count, countedAt: Micros(tally.countedAt) })
  const isOpen = open !== undefined
  const muted = isOpen ? mutedUntil(compiled, occasion) : NEVER
  const due = Math.min(
    nextAt,
    Math.ceil(refreshed.nextAt / 1_000),
    compiled.window(toMillis(now)).changesAt,
    muted,
  )
  if (due < watch.deadline) watch.deadline = due
  return { alerts: so, moves, isHeldBack }
}

function refresh(rule: number, alerts: Alerts, occasion: WatchedOccasion): RefreshResult {
  const { watch, now, sight, events } = occasion
  const compiled = watch.fit.rules[rule]
  const { isInside = false, since = 0 } = compiled?.window(toMillis(now)) ?? {}
  const { status, statusSince } = sight.device
  const stops = compiled?.rule.during_maintenance === 'off'
  const isOpen = isInside && !(stops && status === 'maintenance')
  const openSince = Math.max(since, stops ? statusSince : 0) * 1_000
  const refreshed = watch.refresh(rule, { sight, now, isOpen, openSince, events })
  const open = compiled && openOf(alerts, compiled.id)
  if (refreshed.rose && open !== undefined) count(rule, open, occasion)
  return refreshed
}

/** by the alert's own count, so that a moment that is read again counts once */
function count(rule: number, open: Alert, { watch, now }: WatchedOccasion): void {
  watch.tallies ??= new Map()
  const known = watch.tallies.get(rule)
  const tally =
    known?.startedAt === open.startedAt
      ? known
      : { count: open.count, startedAt: open.startedAt, countedAt: open.countedAt }
  watch.tallies.set(rule, tally)
  if (now <= tally.countedAt) return
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
  }: { readonly alerts: Alerts; readonly refreshed: RefreshResult | undefined; readonly occasion: Occasion },
): Findings {
  const compiled = watch.fit.rules[rule]
  if (compiled === undefined) throw new RangeError(`no rule ${rule}`)
  const { roots, leaves, id } = compiled
  const local =
    refreshed?.leaf ??
    Math.max(
      0,
      leaves.findIndex((leaf) => 'metric' in leaf),
    )
  const leaf = leaves[local] ?? { kind: 'heartbeat' as const }
  const place = watch.fit.leavesOf[rule]?.[local] ?? -1
  const { value, receivedAt } = watch.valueOf(place)
  const open = openOf(alerts, id)
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
    value: shown(leaf, value, receivedAt, occasion),
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

function shown(leaf: Leaf, value: number | string | undefined, receivedAt: number, occasion: Occasion): Json {
  const { device, now, eventValue, sight } = occasion
  switch (leaf.kind) {
    case 'state':
      return leaf.in === undefined ? sight.connected : device.status
    case 'absence':
      return receivedAt > 0 ? Math.floor((now - receivedAt) / 1_000_000) : null
    case 'log':
    case 'command_failed':
    case 'dead_letter':
    case 'deployment_failed':
      return eventValue
    case 'threshold':
      // Kept among numbers.
      return typeof leaf.value === 'boolean' && (value === 0 || value === 1) ? value === 1 : cut(value)
    default:
      return cut(value)
  }
}

function cut(value: number | string | undefined): Json {
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
  { device, silences, now, isUpdating }: Pick<Occasion, 'device' | 'silences' | 'now' | 'isUpdating'>,
): readonly string[] {
  const muted: string[] = []
  for (const silence of silences)
    if (silence.matches(device, id, severity) && silence.at(toMillis(now)).isInside)
      muted.push(`silence:${silence.id}`)
  if (rule.during_maintenance === 'mute' && device.status === 'maintenance') muted.push('maintenance')
  if (rule.inhibit_when_offline && isAboutValues && device.status === 'offline') muted.push('offline')
  if (isUpdating) muted.push('firmware_update')
  for (const other of rule.inhibited_by)
    if (alerts.open.some(({ ruleId }) => ruleId === other)) muted.push(`rule:${other}`)
  return muted
}

function mutedUntil({ id }: CompiledRule, { device, silences, now }: Occasion): number {
  let until = NEVER
  for (const silence of silences)
    if (SEVERITIES.some((severity) => silence.matches(device, id, severity)))
      until = Math.min(until, silence.at(toMillis(now)).changesAt)
  return until
}
const SEVERITIES = ['info', 'warning', 'critical'] as const

function inhibitedBy(watch: Watch, id: RuleId): readonly number[] {
  return watch.fit.rules.flatMap(({ rule }, i) => (rule.inhibited_by.includes(id) ? [i] : []))
}
