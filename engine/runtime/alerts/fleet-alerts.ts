// The leader's service for rules about the fleet: it judges them by the counts of all owners, keeps their alerts, and lets
// users act on them.
//
// L1. Decisions are saved with the leader's claim, together with their notices and rows, before anybody sees them. A
//     failed save may have been carried out all the same, so it is retried until it is known to be saved: deciding again
//     would open a second alert.
// L2. Nothing is judged without the counts of every owner: a part of the fleet that cannot be seen must not seem healthy.
// - One thing at a time: a user's request and a round never decide at the same time.
import type { AlertId, RuleId } from '../../../schemas/ids.ts'
import { Micros, Millis, toMillis } from '../../../schemas/ids.ts'
import { SerialQueue } from '../../../schemas/serial-queue.ts'
import type { AlertEndReason } from '../../../schemas/vocabulary.ts'
import { type AlertAct, applyAct } from '../../domain/alert/acts.ts'
import { isInGroups, matchesQuery, sortAlerts } from '../../domain/alert/alert-results.ts'
import type { CompiledRule } from '../../domain/alert/compile.ts'
import { type FleetCounts, isLeftOut, type LeafName } from '../../domain/alert/fleet-counts.ts'
import {
  endFleet,
  type FleetInstance,
  type FleetJudgement,
  isIdle,
  judgeFleet,
  newFleetInstance,
} from '../../domain/alert/fleet-instance.ts'
import { groupLevelOf, hasNegation, isDeploymentLeaf } from '../../domain/alert/fleet-scope.ts'
import { fleetLeafResults, groupsOf, type LeafResult } from '../../domain/alert/fleet-truth.ts'
import { TRUTH } from '../../domain/alert/leaf-truth.ts'
import { overflowCounts, overflowRule } from '../../domain/alert/overflow-rule.ts'
import { RuleBook } from '../../domain/alert/rule-book.ts'
import type { Author } from '../../domain/shadow/record.ts'
import { LIMITS } from '../../limits.ts'
import type { AlertCounts, AlertMatches, AlertsQuery, FleetActOutcome } from '../../ports/alerts.ts'
import type { Clock } from '../../ports/clock.ts'
import { Fault } from '../../ports/fault.ts'
import type { FeedEvent } from '../../ports/feed.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { type Claim, NO_SAVE, type Save, type Store } from '../../ports/store.ts'
import type { AlertBook } from './alert-book.ts'
import type { FailedDeployments } from './failed-deployments.ts'
import {
  fleetBodies,
  fleetCountsOf,
  fleetEffects,
  fleetMessage,
  fleetMutedBy,
  fleetPendingEvents,
} from './fleet-alert-bodies.ts'
import { fleetDocument, fleetDocumentRemoval, fleetKey, readFleetInstances } from './fleet-documents.ts'
import { FleetSums } from './fleet-sums.ts'

export interface FleetAlertsPorts {
  readonly store: Pick<Store, 'save' | 'documents'>
  readonly claims: readonly Claim[]
  readonly book: AlertBook
  readonly clock: Pick<Clock, 'now'>
  readonly schedule: Pick<Schedule, 'every' | 'sleep'>
  /** Asks the owners of all devices for their counts. `sums`: leaves whose values they also sum up. */
  readonly counts: (sums: readonly LeafName[]) => Promise<FleetCounts>
  readonly failures: FailedDeployments
  readonly publish: (events: readonly FeedEvent[]) => void
  /** Called when rows of the history wait in the outbox. */
  readonly stored: () => void
  readonly failed: (error: unknown) => void
}

/** How long finished alerts stay readable here. The history has them for longer. */
const KEPT_MS = 86_400_000
const QUIET_ROUNDS = 10

export class FleetAlerts {
  readonly #ports: FleetAlertsPorts
  readonly #instances = new Map<string, FleetInstance>()
  /** The last values of each leaf, for display. They change without being saved. */
  readonly #sights = new Map<string, readonly LeafResult[]>()
  readonly #sums = new FleetSums()
  #rules = new RuleBook({ revision: -1, rules: [], silences: [] })
  readonly #decisions = new SerialQueue()
  #isPolling = false
  #lastMicros = 0
  #rounds = 0
  #isClosed = false
  #stop: (() => void) | undefined

  constructor(ports: FleetAlertsPorts) {
    this.#ports = ports
  }

  /** Continues with what earlier leaders have saved. */
  async open(): Promise<void> {
    const { store, schedule } = this.#ports
    for (const instance of await readFleetInstances(store.documents))
      this.#instances.set(fleetKey(instance.ruleId, instance.group), instance)
    this.#stop = schedule.every(LIMITS.fleetLookMs, () => void this.poll())
  }

  close(): void {
    this.#isClosed = true
    this.#stop?.()
  }

  /** Runs one round unless one is running. */
  async poll(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    try {
      await this.#decisions.run(() => this.#round())
    } catch (error) {
      this.#ports.failed(error)
    } finally {
      this.#isPolling = false
    }
  }

  list(query: AlertsQuery): AlertMatches {
    const now = this.#ports.clock.now()
    const found = [...this.#instances.values()]
      .filter(({ place }) => isInGroups(place, query))
      .flatMap((instance) => fleetBodies(instance, this.#about(instance, now)))
      .filter((body) => matchesQuery(body, query))
    return { total: found.length, alerts: sortAlerts(found, query) }
  }

  counts(within: readonly string[] | undefined): AlertCounts {
    const seen = [...this.#instances.values()].filter(({ place }) => isInGroups(place, { within }))
    const now = this.#ports.clock.now()
    return fleetCountsOf(seen.map((instance) => ({ instance, ...this.#about(instance, now) })))
  }

  /** Applies a user's action to an alert. Resolves once it is saved. */
  act(id: AlertId, wish: AlertAct, by: Author): Promise<FleetActOutcome> {
    return this.#decisions.run(() => this.#act(id, wish, by))
  }

  async #act(id: AlertId, wish: AlertAct, by: Author): Promise<FleetActOutcome> {
    const instance = [...this.#instances.values()].find(({ alerts }) =>
      [...alerts.open, ...alerts.resolved].some((alert) => alert.id === id),
    )
    if (instance === undefined)
      return { kind: 'refused', code: 'NOT_FOUND', detail: { message: 'no such alert' } }
    const outcome = applyAct(instance.alerts, id, wish, { by: by.id, now: this.#ports.clock.now() })
    if (outcome.kind === 'refused') return outcome
    const { alerts, move } = outcome
    if (move === undefined) return { kind: 'acted' }
    await this.#saveChanges([
      { before: instance, after: { instance: { ...instance, alerts }, moves: [move] }, by },
    ])
    return { kind: 'acted' }
  }

  async #round(): Promise<void> {
    const { book, clock } = this.#ports
    if (book.settings.revision !== this.#rules.settings.revision)
      this.#rules = new RuleBook(book.settings, this.#rules)
    const now = clock.now()
    const judged: InstanceChange[] = []
    const answered = this.#isCountDue() ? await this.#counted(now) : undefined
    // by L2
    const counts = answered?.isCaughtUp === true ? answered : undefined
    for (const rule of this.#rules.fleet)
      if (rule.leaves.some(isDeploymentLeaf)) judged.push(...(await this.#judgeDeployments(rule, judged)))
      else if (counts !== undefined) judged.push(...this.#judgeCounted(rule, counts, judged))
    if (counts !== undefined) {
      const sights = fleetLeafResults(FULL, overflowCounts(counts), { group: '', before: [] })
      judged.push(...this.#judgeOne(FULL, '', { sights, judged }))
    }
    judged.push(...this.#endOrphans(judged))
    await this.#saveChanges(judged)
  }

  /** Without rules about the fleet, counts are only needed to see whether there is room for alerts, so fewer rounds ask. */
  #isCountDue(): boolean {
    const isQuiet = this.#rules.fleet.length === 0 && this.#instances.size === 0
    return !isQuiet || this.#rounds++ % QUIET_ROUNDS === 0
  }

  async #counted(now: Millis): Promise<FleetCounts> {
    const { fleet } = this.#rules
    const counts = await this.#ports.counts(this.#sums.takeDue(fleet, now))
    if (counts.isCaughtUp) this.#sums.answered(fleet, counts, now)
    return counts
  }

  #judgeCounted(
    rule: CompiledRule,
    counts: FleetCounts,
    judged: readonly InstanceChange[],
  ): readonly InstanceChange[] {
    const found = counts.rules.find(
      ({ ruleId, revision }) => ruleId === rule.id && revision === rule.rule.revision,
    )
    // Not every owner knows this revision of the rule yet.
    if (found === undefined) return []
    const groups = groupLevelOf(rule.rule.condition) === undefined ? [''] : groupsOf(found)
    const known = [...this.#instances.values()].filter(({ ruleId }) => ruleId === rule.id)
    const all = new Set([...known.map(({ group }) => group), ...groups])
    return [...all].flatMap((group) => {
      const before = this.#instances.get(fleetKey(rule.id, group))
      const isNew = before === undefined
      if (isNew && known.length >= LIMITS.fleetGroupsMax) return []
      // by L2
      if (isLeftOut(found, group)) return []
      const isChanged = !isNew && before.key !== rule.key
      // What the rule said before the change is not known of its leaves now.
      if (isChanged && found.leaves.some(({ kind }) => kind === 'none')) return []
      const truths = isNew || isChanged ? [] : before.truths
      const sights = fleetLeafResults(rule, found, { group, before: truths })
      // An instance whose leaves were never true is not kept.
      if (isNew && !sights.some(({ truth }) => truth === TRUTH.yes) && !hasNegation(rule.rule.condition))
        return []
      return this.#judgeOne(rule, group, { sights, judged })
    })
  }

  #judgeOne(rule: CompiledRule, group: string, { sights, judged }: Judging): readonly InstanceChange[] {
    const before = this.#instanceOf(rule, group)
    const after = judgeFleet(before, rule, this.#occasion(rule, before, { sights, judged, isEvent: false }))
    // It would be removed in the next round, and made again in the one after that.
    if (!this.#instances.has(fleetKey(rule.id, group)) && isIdle(after.instance, this.#keptSince())) return []
    this.#noteSights(before, sights)
    return this.#changed(before, after)
  }

  async #judgeDeployments(
    rule: CompiledRule,
    judged: readonly InstanceChange[],
  ): Promise<readonly InstanceChange[]> {
    const known = this.#instances.get(fleetKey(rule.id, ''))
    const { failures } = this.#ports
    const all = failures.all().filter(({ at }) => at >= rule.rule.activated_at)
    const fresh = all.filter(({ key }) => known?.seen.includes(key) !== true)
    if (known === undefined && fresh.length === 0) return []
    const before = this.#instanceOf(rule, '')
    let instance = before
    const moves: FleetJudgement['moves'][number][] = []
    for (const failure of fresh) {
      const isCovered = await failures.isCovered(failure, rule.isMember)
      const seen = [...instance.seen.filter((key) => all.some((each) => each.key === key)), failure.key]
      instance = { ...instance, seen }
      if (!isCovered) continue
      const sight: LeafResult = { truth: TRUTH.yes, value: failure.summary, isNoData: false }
      this.#noteSights(before, [sight])
      const after = judgeFleet(
        instance,
        rule,
        this.#occasion(rule, instance, { sights: [sight], judged, isEvent: true }),
      )
      instance = after.instance
      moves.push(...after.moves)
    }
    const value = this.#sights.get(fleetKey(rule.id, ''))?.[0]?.value ?? null
    const sights = [{ truth: TRUTH.no, value, isNoData: false }]
    const after = judgeFleet(
      instance,
      rule,
      this.#occasion(rule, instance, { sights, judged, isEvent: false }),
    )
    return this.#changed(before, { instance: after.instance, moves: [...moves, ...after.moves] })
  }

  /** Ends alerts whose rule is gone, disabled or about something else now, and removes instances that are not needed. */
  #endOrphans(judged: readonly InstanceChange[]): readonly InstanceChange[] {
    const judgedRules = new Set<RuleId>([FULL.id, ...this.#rules.fleet.map(({ id }) => id)])
    const changed = new Set(judged.map(({ before }) => before))
    const keptSince = this.#keptSince()
    return [...this.#instances.values()].flatMap((before): InstanceChange[] => {
      if (changed.has(before)) return []
      if (judgedRules.has(before.ruleId))
        return isIdle(before, keptSince) ? [{ before, after: undefined }] : []
      const after = endFleet(before, this.#reasonOf(before.ruleId), this.#now())
      if (after.instance !== before) return [{ before, after }]
      return isIdle({ ...before, truths: [], since: [], seen: [] }, keptSince)
        ? [{ before, after: undefined }]
        : []
    })
  }

  #reasonOf(id: RuleId): AlertEndReason {
    const rule = this.#rules.ruleOf(id)
    if (rule === undefined) return 'rule_deleted'
    return rule.rule.enabled ? 'rule_changed' : 'rule_disabled'
  }

  /** by L1 */
  async #saveChanges(changes: readonly InstanceChange[]): Promise<void> {
    if (changes.length === 0) return
    const { claims, publish, stored } = this.#ports
    const now = this.#ports.clock.now()
    const effects = fleetEffects()
    for (const { before, after, by } of changes) {
      if (after === undefined) continue
      const { instance } = after
      const about = { before, after: instance, by, ...this.#about(instance, now) }
      for (const move of after.moves) effects.moved(move, about)
      effects.feed.push(...fleetPendingEvents(before, instance, about))
    }
    const documents = changes.map(({ before, after }) =>
      after === undefined ? fleetDocumentRemoval(before) : fleetDocument(after.instance),
    )
    const { notices, history } = effects
    await this.#saveUntilDone({ ...NO_SAVE, claims, documents, notices, history })
    for (const { before, after } of changes) {
      const key = fleetKey(before.ruleId, before.group)
      if (after === undefined) {
        this.#instances.delete(key)
        this.#sights.delete(key)
      } else this.#instances.set(key, after.instance)
    }
    if (effects.history.length > 0) stored()
    publish(effects.feed)
  }

  async #saveUntilDone(save: Save): Promise<void> {
    const { store, schedule, failed } = this.#ports
    for (;;) {
      try {
        await store.save(save)
        return
      } catch (error) {
        if (this.#isClosed || (error instanceof Fault && error.code === 'STORE_FENCED')) throw error
        failed(error)
        await schedule.sleep(LIMITS.saveRetryMs)
      }
    }
  }

  #changed(before: FleetInstance, after: FleetJudgement): readonly InstanceChange[] {
    return after.instance === before ? [] : [{ before, after }]
  }

  #instanceOf(rule: CompiledRule, group: string): FleetInstance {
    const known = this.#instances.get(fleetKey(rule.id, group))
    if (known !== undefined) return known
    const { target } = rule.rule
    const named = target.type === 'group' && typeof target.value === 'string' ? target.value : undefined
    return newFleetInstance(rule, group, group === '' ? named : group)
  }

  #occasion(
    rule: CompiledRule,
    instance: FleetInstance,
    { sights: leaves, judged, isEvent }: Judging & { readonly isEvent: boolean },
  ) {
    const now = this.#now()
    const about = { ...this.#about(instance, toMillis(now), judged), rule }
    return {
      leaves,
      now,
      isEvent,
      mutedBy: fleetMutedBy(instance, about),
      message: fleetMessage(instance, rule),
    }
  }

  #about(instance: FleetInstance, now: Millis, judged: readonly InstanceChange[] = []) {
    const { ruleId, group } = instance
    const rule = ruleId === FULL.id ? FULL : this.#rules.ruleOf(ruleId)
    const isFiring = (id: RuleId) => {
      const change = judged.find(({ before }) => before.ruleId === id && before.group === group)
      const other = change?.after?.instance ?? this.#instances.get(fleetKey(id, group))
      return other?.alerts.open.some((alert) => alert.ruleId === id) === true
    }
    const sights = this.#sights.get(fleetKey(ruleId, group))
    return { rule, now, sights, silences: this.#rules.silences, isFiring }
  }

  /** Keeps the newest value of each leaf. A leaf without a value keeps its previous one. */
  #noteSights({ ruleId, group }: FleetInstance, leaves: readonly LeafResult[]): void {
    const key = fleetKey(ruleId, group)
    const before = this.#sights.get(key)
    this.#sights.set(
      key,
      leaves.map((leaf, i) => ({ ...leaf, value: leaf.value ?? before?.[i]?.value ?? null })),
    )
  }

  #keptSince(): Millis {
    return Millis(this.#ports.clock.now() - KEPT_MS)
  }

  /** The time of a judgement. No two judgements have the same. */
  #now(): Micros {
    this.#lastMicros = Math.max(this.#ports.clock.now() * 1_000, this.#lastMicros + 1)
    return Micros(this.#lastMicros)
  }
}

interface InstanceChange {
  readonly before: FleetInstance
  /** Undefined if the instance is removed. */
  readonly after: FleetJudgement | undefined
  readonly by?: Author
}

interface Judging {
  readonly sights: readonly LeafResult[]
  /** What was decided earlier in the same round. */
  readonly judged: readonly InstanceChange[]
}

const FULL = overflowRule()
