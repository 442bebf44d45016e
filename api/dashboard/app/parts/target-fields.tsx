// The fields of whom something goes to, with what this fleet has as suggestions.
import { columns, fleetVersion } from '../live/fleet-index.ts'
import { words } from '../words/words.ts'
import { Field } from './field.tsx'
import { SelectField } from './select-field.tsx'
import { chooseTargetKind, type TargetKind, targetKind, targetNames } from './target.ts'

const t = words({
  target: ['Devices', 'Geräte'],
  group: ['a group and its subgroups', 'eine Gruppe und die darunter'],
  tag: ['all with a tag', 'alle mit einem Tag'],
  devices: ['these devices', 'diese Geräte'],
  type: ['all of a type', 'alle eines Typs'],
  filter: ['all that match a filter', 'alle, auf die ein Filter passt'],
  filterText: ['Filter, as in the device list', 'Filter, wie in der Geräteliste'],
  ids: ['Ids, separated by commas', 'IDs, durch Kommas getrennt'],
})

/** A longer list helps nobody who types. */
const SUGGESTIONS_MAX = 200

export interface TargetFieldsProps {
  readonly kinds: readonly [TargetKind, ...TargetKind[]]
  /** What was looked at before is no longer what would be sent. */
  readonly onChange: () => void
  /** The refusal of the form. */
  readonly error: unknown
}

export function TargetFields({ kinds, onChange, error }: TargetFieldsProps) {
  const kind = targetKind(kinds)
  const suggestions = fleetVersion.value === 0 ? [] : suggestionsFor(kind)
  return (
    <>
      <SelectField
        label={t('target')}
        options={kinds.map((word) => [word, t(word)] as const)}
        value={kind}
        onValue={(next) => {
          chooseTargetKind(next)
          onChange()
        }}
      />
      {kind !== 'all' && (
        <Field
          label={kind === 'devices' ? t('ids') : kind === 'filter' ? t('filterText') : t('which')}
          {...(kind === 'filter' ? { placeholder: 'status:offline group:eu' } : {})}
          required
          value={targetNames.value}
          spellcheck={false}
          autocomplete="off"
          suggestions={suggestions}
          onValue={(next) => {
            targetNames.set(next)
            onChange()
          }}
          error={error}
          pointer="/target/value"
        />
      )}
    </>
  )
}

function suggestionsFor(kind: TargetKind): readonly string[] {
  const lists: Readonly<Partial<Record<TargetKind, readonly string[]>>> = {
    group: columns.groups.words,
    tag: columns.tagWords.words,
    type: columns.types.words,
  }
  return [...(lists[kind] ?? [])].filter(Boolean).sort().slice(0, SUGGESTIONS_MAX)
}
