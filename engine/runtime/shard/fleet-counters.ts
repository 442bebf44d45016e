// What a shard tells the leader for rules about the fleet: counts, which are kept as devices change, and sums of newest
// values, which are computed when asked for.
import type { FleetMetricLeaf } from '../../../schemas/alert-condition.ts'
import type { Millis, RuleId } from '../../../schemas/ids.ts'
import type { CompiledRule } from '../../domain/alert/compile.ts'
import { boundGroups, type FleetCounts, type LeafName } from '../../domain/alert/fleet-counts.ts'
import { addValue, type MetricSum } from '../../domain/alert/fleet-metric.ts'
import { FleetTally, type GroupCount, groupPrefix, isCountable } from '../../domain/alert/fleet-tally.ts'
import { isFlapping } from '../../domain/device/flapping.ts'
import { type Actor, isConnected } from './actor.ts'

interface CountedLeaf {
  readonly rule: CompiledRule
  readonly place: number
  readonly tally: FleetTally
}

export class FleetCounters {
  #rules: readonly CompiledRule[] = []
  #leaves: readonly CountedLeaf[] = []

  /** Sets the rules to count for. Rules that have not changed keep their counts. */
  settle(rules: readonly CompiledRule[], actors: Iterable<Actor>, now: Millis): void {
    const known = new Map(this.#leaves.map((leaf) => [leaf.rule, leaf]))
    const before = this.#leaves
    this.#rules = rules
    this.#leaves = rules.flatMap((rule) =>
      known.has(rule)
        ? before.filter((leaf) => leaf.rule === rule)
        : rule.leaves.flatMap((leaf, place) =>
            leaf.kind === 'fleet' ? [{ rule, place, tally: new FleetTally(rule, leaf) }] : [],
          ),
    )
    const fresh = this.#leaves.filter((leaf) => !known.has(leaf.rule))
    if (fresh.length > 0) for (const actor of actors) noteIn(fresh, actor, now)
  }

  /** Counts the actor as it is now. */
  note(actor: Actor, now: Millis): void {
    if (this.#leaves.length > 0) noteIn(this.#leaves, actor, now)
  }

  forget({ slot }: Actor): void {
    for (const { tally } of this.#leaves) tally.remove(slot)
  }

  /** `sums`: the leaves whose values are to be summed. */
  counts(sums: readonly LeafName[], actors: Iterable<Actor>, now: Millis): FleetCounts['rules'] {
    const summed = this.#summed(sums, actors, now)
    return this.#rules.map((rule) => ({
      ruleId: rule.id,
      revision: rule.rule.revision,
      leaves: rule.leaves.map((leaf, place) => {
        if (leaf.kind === 'fleet') return { kind: 'counts', groups: this.#countsOf(rule, place) }
        const groups = summed.get(nameOf({ ruleId: rule.id, place }))
        return groups === undefined ? { kind: 'none' } : { kind: 'sums', groups }
      }),
    }))
  }

  #countsOf(rule: CompiledRule, place: number): readonly GroupCount[] {
    const kept = this.#leaves.find((leaf) => leaf.rule === rule && leaf.place === place)
    return boundGroups(kept?.tally.counts() ?? [])
  }

  #summed(
    names: readonly LeafName[],
    actors: Iterable<Actor>,
    now: Millis,
  ): ReadonlyMap<string, readonly MetricSum[]> {
    const asked = names.flatMap(({ ruleId, place }) => {
      const rule = this.#rules.find(({ id }) => id === ruleId)
      const leaf = rule?.leaves[place]
      return rule !== undefined && leaf?.kind === 'fleet_metric'
        ? [{ rule, leaf, name: nameOf({ ruleId, place }), sums: new Map<string, MetricSum>() }]
        : []
    })
    if (asked.length > 0)
      for (const { device, latest } of actors) {
        if (latest === undefined || !isCountable(device)) continue
        const wanted = asked.filter(({ rule }) => rule.isMember(device))
        const metrics = wanted.length === 0 ? [] : latest.toMetrics()
        for (const { leaf, sums } of wanted) {
          const group = groupPrefix(device.group, leaf)
          const found = metrics.find(({ metric }) => metric === leaf.metric)
          const value = typeof found?.value === 'boolean' ? Number(found.value) : found?.value
          if (group === undefined || found === undefined || typeof value !== 'number') continue
          if (isStale(found.at, leaf, now)) continue
          sums.set(group, addValue(sums.get(group), group, value))
        }
      }
    return new Map(asked.map(({ name, sums }) => [name, boundGroups([...sums.values()])]))
  }
}

function noteIn(leaves: readonly CountedLeaf[], actor: Actor, now: Millis): void {
  const { device, slot } = actor
  if (slot < 0) return
  const about = { device, connected: isConnected(actor), flapping: isFlapping(actor.connects, now) }
  for (const { tally } of leaves) tally.update(slot, about)
}

function isStale(at: number, { stale_after_sec: afterSec = 300 }: FleetMetricLeaf, now: Millis): boolean {
  return at / 1_000 < now - afterSec * 1_000
}

function nameOf({ ruleId, place }: { readonly ruleId: RuleId; readonly place: number }): string {
  return `${place} ${ruleId}`
}
