// Nothing fits the filter: which of its terms is in the way, and how to be rid of it.
import { formatQuery, formatTerm, type Query } from '../address/filter.ts'
import { withoutTerm } from '../address/filter-edit.ts'
import { matchesWithout } from '../fleet/facets.ts'
import type { MetricColumns } from '../fleet/filter-rows.ts'
import { columns } from '../live/fleet-index.ts'
import { now } from '../words/time.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { Empty } from './empty.tsx'
import { plainText } from './plain-text.ts'

const t = words({
  none: ['No devices match the filter', 'Kein Gerät passt zum Filter'],
  without: [
    '{n} device matches without {term} | {n} devices match without {term}',
    '{n} passt ohne {term} | {n} passen ohne {term}',
  ],
  retired: [
    'The only device is decommissioned | All {n} devices are decommissioned',
    'Das einzige Gerät ist ausgemustert | Alle {n} Geräte sind ausgemustert',
  ],
  show: ['Show them', 'Zeigen'],
})

export interface NoMatchProps {
  readonly query: Query
  readonly onText: (text: string) => void
  /** What terms of metrics are judged by. */
  readonly metrics?: MetricColumns
}

export function NoMatch({ query, onText, metrics = {} }: NoMatchProps) {
  const counts = matchesWithout(query, { columns, nowMs: now.peek(), metrics })
  const best = counts.indexOf(Math.max(...counts))
  const term = query[best]
  const isAllRetired = query.length === 0
  if (isAllRetired)
    return (
      <Empty title={t('retired', { n: columns.size })}>
        <Button onClick={() => onText('status:decommissioned')}>{t('show')}</Button>
      </Empty>
    )
  return (
    <Empty title={t('none')}>
      {term !== undefined && (counts[best] ?? 0) > 0 && (
        <Button onClick={() => onText(formatQuery(withoutTerm(query, best)))}>
          {t('without', { n: counts[best] ?? 0, term: plainText(formatTerm(term)) })}
        </Button>
      )}
      <Button onClick={() => onText('')}>{t('clearFilter')}</Button>
    </Empty>
  )
}
