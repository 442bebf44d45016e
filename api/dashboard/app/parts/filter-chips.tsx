// The filters of a list that its address names, as chips: each can be taken away. Links from elsewhere set some that the
// list has no field for.
import { queryText, setQuery } from '../navigation/navigation.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { Empty } from './empty.tsx'
import { plainText } from './plain-text.ts'

const FILTERS = {
  action: ['Action', 'Aktion'],
  actor: ['Who', 'Wer'],
  cause: ['Cause', 'Ursache'],
  command: ['Command', 'Befehl'],
  device: ['Device', 'Gerät'],
  find: ['Text', 'Text'],
  from: ['From', 'Von'],
  group: ['Group', 'Gruppe'],
  held: ['Held by', 'Wartet auf'],
  kind: ['Kind', 'Art'],
  level: ['Level', 'Stufe'],
  outcome: ['Outcome', 'Ausgang'],
  reason: ['Reason', 'Grund'],
  rule: ['Rule', 'Regel'],
  severity: ['Severity', 'Schwere'],
  status: ['Status', 'Status'],
  storm: ['Storm', 'Sturm'],
  target: ['Target', 'Ziel'],
  to: ['To', 'Bis'],
} as const
const t = words({
  ...FILTERS,
  label: ['Filters of this list', 'Filter dieser Liste'],
  remove: ['Remove the filter {name}', 'Filter {name} entfernen'],
  clear: ['Remove all filters', 'Alle Filter entfernen'],
})

export type FilterName = keyof typeof FILTERS

export interface FilterChipsProps {
  readonly names: readonly FilterName[]
  /** What a person knows a value as, where the address has an id. */
  readonly texts?: Readonly<Partial<Record<FilterName, string>>>
}

const isSet = (name: FilterName) => (queryText(name) ?? '') !== ''

export function FilterChips({ names, texts = {} }: FilterChipsProps) {
  const set = names.filter(isSet)
  if (set.length === 0) return null
  return (
    <ul class="filter-chips" aria-label={t('label')}>
      {set.map((name) => (
        <li key={name}>
          <span class="chip">
            {t(name)}
            <code>{plainText(texts[name] ?? queryText(name) ?? '')}</code>
            <Button
              kind="quiet"
              icon="x"
              label={t('remove', { name: t(name) })}
              onClick={() => setQuery({ [name]: undefined })}
            />
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Stands in place of a list that has nothing for its filters. */
export function NoneFits({ title, ...chips }: FilterChipsProps & { readonly title: string }) {
  const clear = () => setQuery(Object.fromEntries(chips.names.map((name) => [name, undefined])))
  return (
    <Empty title={title}>
      <FilterChips {...chips} />
      {chips.names.filter(isSet).length > 1 && <Button onClick={clear}>{t('clear')}</Button>}
    </Empty>
  )
}
