import type { DeviceStatus } from '../../../../../schemas/vocabulary.ts'
import { formatQuery, type Query } from '../../address/filter.ts'
import { hasValue, toggledValue } from '../../address/filter-edit.ts'
import { FACET_KEYS, type FacetCount, type FacetKey, type Facets } from '../../fleet/facets.ts'
import { plainText } from '../../parts/plain-text.ts'
import { StatusMark } from '../../parts/status-mark.tsx'
import { number, words } from '../../words/words.ts'

const t = words({
  facets: ['Filters by count', 'Filter mit Anzahl'],
  is: ['Attention', 'Aufmerksamkeit'],
  tag: ['Tag', 'Tag'],
  fw: ['Firmware', 'Firmware'],
  attention: ['needs attention', 'braucht Aufmerksamkeit'],
  more: ['{n} more: type to find them', '{n} weitere: durch Tippen zu finden'],
})

/** The most common values; the filter field reaches the others. */
const VALUES_MAX = 12

export interface FacetPanelProps {
  readonly facets: Facets
  readonly query: Query
  readonly onText: (text: string) => void
}

export function FacetPanel({ facets, query, onText }: FacetPanelProps) {
  return (
    <section class="facets" aria-label={t('facets')}>
      {FACET_KEYS.map((key) => (
        <Facet key={key} name={key} counts={facets[key]} query={query} onText={onText} />
      ))}
    </section>
  )
}

interface FacetProps {
  readonly name: FacetKey
  readonly counts: readonly FacetCount[]
  readonly query: Query
  readonly onText: (text: string) => void
}

function Facet({ name, counts, query, onText }: FacetProps) {
  if (counts.length === 0) return null
  const shown = counts.filter(({ value }, i) => i < VALUES_MAX || hasValue(query, name, value))
  return (
    <fieldset class="facet">
      <legend>{t(name)}</legend>
      {shown.map(({ value, count }) => {
        const depth = name === 'group' ? value.split('/').length - 1 : 0
        return (
          <button
            key={value}
            type="button"
            class="facet-value"
            aria-pressed={hasValue(query, name, value)}
            title={plainText(value)}
            style={{ paddingInlineStart: `${8 + depth * 12}px` }}
            onClick={() => onText(formatQuery(toggledValue(query, name, value)))}
          >
            <span class="facet-name">{nameOf(name, value)}</span>
            <span class="facet-count">{number(count)}</span>
          </button>
        )
      })}
      {counts.length > shown.length && <p class="hint">{t('more', { n: counts.length - shown.length })}</p>}
    </fieldset>
  )
}

function nameOf(key: FacetKey, value: string) {
  if (key === 'status') return <StatusMark status={value as DeviceStatus} /> // facets list the vocabulary
  if (key === 'is') return t('attention')
  return plainText(key === 'group' ? (value.split('/').at(-1) ?? value) : value)
}
