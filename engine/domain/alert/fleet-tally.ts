// Counts the members of a fleet rule's target for which a leaf holds. The counts are updated when a device changes, so the
// leader never has to look at every device.
import type { FleetLeaf, FleetOf } from '../../../schemas/alert-condition.ts'
import type { Alerts } from './alerts-part.ts'
import type { CompiledRule } from './compile.ts'
import type { Subject } from './subject.ts'

/** What is counted of a device. */
export interface CountedDevice {
  readonly device: Subject & { readonly alerts: Alerts }
  readonly connected: boolean
  readonly flapping: boolean
}

/** The count of one group, or of all members if groups are not told apart: then its name is empty. */
export interface GroupCount {
  readonly group: string
  readonly members: number
  readonly matching: number
}

interface MutableCount {
  readonly group: string
  members: number
  matching: number
}

const NO_MEMBER = 0
const SLOTS_START = 1_024

/** The counts of one leaf over the devices of a shard. */
export class FleetTally {
  readonly #rule: CompiledRule
  readonly #leaf: FleetLeaf
  /** A number for each device's slot: 0 if it is no member, else twice its group's number, plus 1 if the condition holds. */
  #states = new Int32Array(SLOTS_START)
  readonly #numbers = new Map<string, number>()
  /** Group number 0 is not used, because 0 means no member. */
  readonly #counts: MutableCount[] = [{ group: '', members: 0, matching: 0 }]

  constructor(rule: CompiledRule, leaf: FleetLeaf) {
    this.#rule = rule
    this.#leaf = leaf
  }

  /** Counts the device as it is now, in place of what it was. */
  update(slot: number, about: CountedDevice): void {
    const { device } = about
    const group =
      isCountable(device) && this.#rule.isMember(device) ? groupPrefix(device.group, this.#leaf) : undefined
    const after =
      group === undefined
        ? NO_MEMBER
        : 2 * this.#groupNumber(group) + (matchesLeaf(this.#leaf.of, about) ? 1 : 0)
    if (slot >= this.#states.length) this.#grow(slot)
    const before = this.#states[slot] ?? NO_MEMBER
    if (before === after) return
    this.#states[slot] = after
    this.#add(before, -1)
    this.#add(after, 1)
  }

  /** Called when the device is removed. */
  remove(slot: number): void {
    const before = this.#states[slot] ?? NO_MEMBER
    if (before === NO_MEMBER) return
    this.#states[slot] = NO_MEMBER
    this.#add(before, -1)
  }

  /** Groups that have members. */
  counts(): readonly GroupCount[] {
    return this.#counts.filter(({ members }) => members > 0).map((count) => ({ ...count }))
  }

  #add(state: number, by: 1 | -1): void {
    const count = this.#counts[state >> 1]
    if (state === NO_MEMBER || count === undefined) return
    count.members += by
    if (state % 2 === 1) count.matching += by
  }

  #groupNumber(group: string): number {
    const known = this.#numbers.get(group)
    if (known !== undefined) return known
    const number = this.#counts.push({ group, members: 0, matching: 0 }) - 1
    this.#numbers.set(group, number)
    return number
  }

  #grow(slot: number): void {
    const grown = new Int32Array(Math.max(slot + 1, 2 * this.#states.length))
    grown.set(this.#states)
    this.#states = grown
  }
}

/** A device that was never heard is not there yet, and one that is decommissioned is not any more. */
export function isCountable({ status }: Pick<Subject, 'status'>): boolean {
  return status !== 'provisioning' && status !== 'decommissioned'
}

/** The first segments of a group path. Undefined for a device that is in no group of that level. */
export function groupPrefix(
  group: string | undefined,
  { group_level: level }: { readonly group_level?: number },
): string | undefined {
  if (level === undefined) return ''
  const segments = group === undefined ? [] : group.split('/')
  return segments.length < level ? undefined : segments.slice(0, level).join('/')
}

function matchesLeaf(of: FleetOf, { device, connected, flapping }: CountedDevice): boolean {
  if ('rule_id' in of) return device.alerts.open.some(({ ruleId }) => ruleId === of.rule_id)
  if (of.kind === 'flapping') return flapping
  const isIn = of.in === undefined || of.in.includes(device.status)
  return isIn && (of.connected === undefined || of.connected === connected)
}
