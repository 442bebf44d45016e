// Counts a shard's alerts by state as they move, so that a summary need not look at devices.
import type { RuleId } from '../../../schemas/ids.ts'
import type { AlertSeverity } from '../../../schemas/vocabulary.ts'
import { isWithin } from '../../domain/alert/target.ts'
import type { AlertCounts, SeverityCounts } from '../../ports/alerts.ts'
import type { Actor } from './actor.ts'

/** One alert, or one instance that counts its `for_sec`. */
export interface CountedAlert {
  readonly ruleId: RuleId
  readonly state: 'pending' | 'firing' | 'recovering'
  readonly severity: AlertSeverity
}

interface Contribution {
  readonly group: string
  readonly alerts: readonly CountedAlert[]
}

type MutableCounts = { [Severity in AlertSeverity]: number }
interface GroupCounts {
  readonly byState: Record<CountedAlert['state'], MutableCounts>
  readonly open: MutableCounts
  readonly byRule: Map<RuleId, { firing: number; pending: number }>
  alerts: number
}

const NOTHING: readonly CountedAlert[] = []

export class AlertCounters {
  /** What each actor contributes to the counts. Actors without alerts are missing. */
  readonly #known = new Map<Actor, Contribution>()
  readonly #groups = new Map<string, GroupCounts>()
  readonly #total = { pending: zeroCounts(), firing: zeroCounts(), recovering: zeroCounts() }
  #isReported = false
  #open = 0

  /** How many alerts are open in all. */
  get open(): number {
    return this.#open
  }

  /** Actors with an open alert or a pending instance. */
  actors(): Iterable<Actor> {
    return this.#known.keys()
  }

  /** Replaces what the actor contributed before. */
  note(actor: Actor, alerts: readonly CountedAlert[]): void {
    const before = this.#known.get(actor)
    if (before === undefined && alerts.length === 0) return
    const after = { group: actor.device.group ?? '', alerts }
    if (before !== undefined) this.#add(before, -1)
    if (alerts.length === 0) this.#known.delete(actor)
    else {
      this.#known.set(actor, after)
      this.#add(after, 1)
    }
  }

  forget(actor: Actor): void {
    this.note(actor, NOTHING)
  }

  /** The totals by state. Undefined if they have not changed since the last call. */
  takeTotals(): AlertCounts['byState'] | undefined {
    if (this.#isReported) return undefined
    this.#isReported = true
    const { pending, firing, recovering } = this.#total
    return { pending: { ...pending }, firing: { ...firing }, recovering: { ...recovering } }
  }

  /** `within`: counts only groups in these subtrees. */
  counts(within: readonly string[] | undefined): Omit<AlertCounts, 'overloaded' | 'overflowing'> {
    const byState = { pending: zeroCounts(), firing: zeroCounts(), recovering: zeroCounts() }
    const byGroup: Record<string, SeverityCounts> = {}
    const byRule: Record<string, { firing: number; pending: number }> = {}
    for (const [group, counts] of this.#groups) {
      const isSeen = within === undefined || within.some((subtree) => isWithin(group, subtree))
      if (!isSeen) continue
      for (const state of STATES) addTo(byState[state], counts.byState[state])
      if (counts.open.info + counts.open.warning + counts.open.critical > 0)
        byGroup[group] = { ...counts.open }
      for (const [ruleId, { firing, pending }] of counts.byRule) {
        const known = byRule[ruleId] ?? { firing: 0, pending: 0 }
        byRule[ruleId] = { firing: known.firing + firing, pending: known.pending + pending }
      }
    }
    return { byState, byGroup, byRule }
  }

  #add({ group, alerts }: Contribution, by: 1 | -1): void {
    const counts = this.#groups.get(group) ?? newGroup()
    this.#groups.set(group, counts)
    this.#isReported = false
    for (const { ruleId, state, severity } of alerts) {
      counts.alerts += by
      counts.byState[state][severity] += by
      this.#total[state][severity] += by
      if (state !== 'pending') {
        counts.open[severity] += by
        this.#open += by
      }
      const rule = counts.byRule.get(ruleId) ?? { firing: 0, pending: 0 }
      counts.byRule.set(ruleId, rule)
      if (state === 'firing') rule.firing += by
      if (state === 'pending') rule.pending += by
      if (rule.firing === 0 && rule.pending === 0) counts.byRule.delete(ruleId)
    }
    if (counts.alerts === 0) this.#groups.delete(group)
  }
}

const STATES = ['pending', 'firing', 'recovering'] as const

function zeroCounts(): MutableCounts {
  return { info: 0, warning: 0, critical: 0 }
}

function newGroup(): GroupCounts {
  const byState = { pending: zeroCounts(), firing: zeroCounts(), recovering: zeroCounts() }
  return { byState, open: zeroCounts(), byRule: new Map(), alerts: 0 }
}

function addTo(sum: MutableCounts, counts: SeverityCounts): void {
  sum.info += counts.info
  sum.warning += counts.warning
  sum.critical += counts.critical
}
