// Whom something goes to: a kind and what it names, both in the address, so that a list of devices or a saved view leads to a
// form that is filled in.
import { oneOf, text } from '../address/codecs.ts'
import { type FilterTarget, filterTarget as targetOfFilter } from '../fleet/filter-target.ts'
import { columns, fleetState } from '../live/fleet-index.ts'
import { queryValue } from '../navigation/navigation.ts'
import { now } from '../words/time.ts'

const TARGET_KINDS = ['group', 'tag', 'type', 'devices', 'filter', 'all'] as const
export type TargetKind = (typeof TARGET_KINDS)[number]

const kindValue = queryValue('target', oneOf(TARGET_KINDS, 'group'))
export const targetNames = queryValue('which', text('', 20_000))

/** The kind that the address names, if the form has it, or its first one. */
export const targetKind = <Kind extends TargetKind>(kinds: readonly [Kind, ...Kind[]]): Kind =>
  kinds.find((kind) => kind === kindValue.value) ?? kinds[0]

export function chooseTargetKind(kind: TargetKind): void {
  kindValue.set(kind)
  // A tag is no group.
  targetNames.set('')
}

/** What a text of the filter language means. Terms that only this page can judge become the devices that fit now. */
export const filterTarget = (filterText: string): FilterTarget =>
  targetOfFilter(filterText, {
    columns,
    nowMs: now.peek(),
    isWhole: fleetState.peek().state !== 'truncated',
  })
