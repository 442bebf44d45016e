// Whom something goes to: a kind and what it names, both in the address, so that a list of devices or a saved view leads to a
// form that is filled in.
import { oneOf, text } from '../address/codecs.ts'
import { queryValue } from '../navigation/navigation.ts'

const TARGET_KINDS = ['group', 'tag', 'type', 'devices', 'all'] as const
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

/** Ids in a text, separated by commas. */
export const idsIn = (names: string): readonly string[] =>
  names
    .split(',')
    .map((id) => id.trim())
    .filter(Boolean)
