// What is different where there are more devices than a page keeps: said beside the filter, with the terms that do not work.
import { formatQuery, formatTerm, type Query } from '../address/filter.ts'
import { LIMITS } from '../limits.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { plainText } from './plain-text.ts'

const t = words({
  note: [
    'There are {n} devices, more than the {max} a browser keeps, so the service counts and searches. It matches the start of names and ids, and status, type, group, tag, parent and fw.',
    'Es sind {n} Geräte, und ein Browser hält bis zu {max}: hier zählt und sucht der Dienst. Er findet Anfänge von Namen und IDs, status, type, group, tag, parent und fw.',
  ],
  unknown: [
    'The service cannot filter by {term} in a fleet of this size, so nothing is shown.',
    'In einer Flotte dieser Größe kann der Dienst {term} nicht beurteilen, darum wird nichts gezeigt.',
  ],
  without: ['Show it without {term}', 'Ohne {term} zeigen'],
})

export interface SummaryNoteProps {
  readonly total: number
  readonly query: Query
  readonly unknown: Query
  readonly onText: (text: string) => void
}

export function SummaryNote({ total, query, unknown, onText }: SummaryNoteProps) {
  const terms = plainText(formatQuery(unknown))
  const wrong = new Set(unknown.map(formatTerm))
  return (
    <div class="summary-note" role="status">
      <p class="muted">{t('note', { n: total, max: LIMITS.indexDevicesMax })}</p>
      {unknown.length > 0 && (
        <p class="row">
          <span>{t('unknown', { term: terms })}</span>
          <Button onClick={() => onText(formatQuery(query.filter((term) => !wrong.has(formatTerm(term)))))}>
            {t('without', { term: terms })}
          </Button>
        </p>
      )}
    </div>
  )
}
