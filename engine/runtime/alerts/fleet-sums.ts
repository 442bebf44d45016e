// When the newest values of a fleet rule's members are summed: as often as the rule says, and soon again if that failed.
import type { Leaf } from '../../../schemas/alert-condition.ts'
import type { Millis } from '../../../schemas/ids.ts'
import type { CompiledRule } from '../../domain/alert/compile.ts'
import type { FleetCounts, LeafName } from '../../domain/alert/fleet-counts.ts'

const EVERY_SEC_DEFAULT = 60
/** Values are asked for again after this time if an owner did not answer. It is the shortest `every_sec`. */
const RETRY_MS = 10_000

export class FleetSums {
  /** When the values of a leaf are due next. A rule that changes has other leaves. */
  readonly #dueAt = new WeakMap<Leaf, number>()

  /** The leaves whose values are to be asked for now. */
  takeDue(rules: readonly CompiledRule[], now: Millis): readonly LeafName[] {
    return rules.flatMap(({ id: ruleId, leaves }) =>
      leaves.flatMap((leaf, place) => {
        if (leaf.kind !== 'fleet_metric' || now < (this.#dueAt.get(leaf) ?? 0)) return []
        this.#dueAt.set(leaf, now + RETRY_MS)
        return [{ ruleId, place }]
      }),
    )
  }

  /** `counts`: the answer of all owners to what was due at that time. */
  answered(rules: readonly CompiledRule[], counts: FleetCounts, now: Millis): void {
    for (const { id, rule, leaves } of rules) {
      const counted = counts.rules.find(({ ruleId, revision }) => ruleId === id && revision === rule.revision)
      leaves.forEach((leaf, place) => {
        if (leaf.kind !== 'fleet_metric') return
        // Owners that do not know the rule yet know it soon.
        if (counted === undefined) this.#dueAt.delete(leaf)
        else if (counted.leaves[place]?.kind === 'sums')
          this.#dueAt.set(leaf, now + (leaf.every_sec ?? EVERY_SEC_DEFAULT) * 1_000)
      })
    }
  }
}
