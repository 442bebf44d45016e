// The overview where there are more devices than a page keeps: the service counts, and groups are rows in place of a map.

import { DEVICE_STATUSES } from '../../../../../schemas/vocabulary.ts'
import { text, whole } from '../../address/codecs.ts'
import { formatQuery, parseQuery } from '../../address/filter.ts'
import { onlyValue } from '../../address/filter-edit.ts'
import { omitEmpty } from '../../address/omit-empty.ts'
import { pathOf } from '../../address/routes.ts'
import { toServerQuery } from '../../address/server-filter.ts'
import { useAnswer } from '../../data/answers.ts'
import { STATUSES_WORST_FIRST } from '../../fleet/sort-rows.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { FilterField } from '../../parts/filter-field.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { StatusMark } from '../../parts/status-mark.tsx'
import { SummaryNote } from '../../parts/summary-note.tsx'
import { number } from '../../words/words.ts'
import { type CountedGroup, GroupTable } from './group-table.tsx'
import { t } from './overview-words.ts'

const filter = queryValue('q', text())
const depthValue = queryValue('depth', whole(2, 1, 8))
const EVERY_MS = 5000
const WELL = new Set(['online', 'maintenance', 'provisioning', 'decommissioned'])
const SHOWN = STATUSES_WORST_FIRST.filter((status) => status !== 'decommissioned')

export function Summary({ total }: { readonly total: number }) {
  const query = parseQuery(filter.value)
  const { filter: wanted, unknown } = toServerQuery(query)
  const { group, type, tag = [] } = wanted
  const [firstTag, ...moreTags] = tag
  // Counts know groups, types and one tag; a list knows more.
  const isCounted =
    moreTags.length === 0 &&
    Object.keys(wanted).every((key) => key === 'group' || key === 'type' || key === 'tag')
  const uncounted = isCounted ? unknown : query
  const answer = useAnswer(
    'getFleetSummary',
    {
      query: {
        by: 'group',
        depth: depthValue.value,
        ...omitEmpty({ group, type, tag: firstTag }),
      },
    },
    { everyMs: EVERY_MS, isWanted: uncounted.length === 0 },
  )
  return (
    <div class="stack">
      <FilterField text={filter.value} onText={filter.set} />
      <SummaryNote total={total} query={query} unknown={uncounted} onText={filter.set} />
      {uncounted.length === 0 && (
        <AnswerArea answer={answer}>
          {({ data }) => (
            <>
              <ul class="tiles" aria-label={t('counts')}>
                {SHOWN.map((status) => (
                  <li key={status}>
                    <a
                      class="tile"
                      href={pathOf('devices', {}, { q: formatQuery(onlyValue(query, 'status', status)) })}
                    >
                      <StatusMark status={status} />
                      <strong class="tile-count">
                        {number(data.reduce((sum, { by_status }) => sum + (by_status[status] ?? 0), 0))}
                      </strong>
                    </a>
                  </li>
                ))}
              </ul>
              <section class="card" aria-labelledby="groups">
                <header class="row map-head">
                  <h2 id="groups">{t('map')}</h2>
                  <SelectField
                    label={t('depth')}
                    value={String(depthValue.value)}
                    options={['1', '2', '3', '4'].map((level) => [level, level])}
                    onValue={(level) => depthValue.set(Number(level))}
                  />
                </header>
                <GroupTable blocks={data.map(countedGroup).sort((a, b) => b.trouble - a.trouble)} />
              </section>
            </>
          )}
        </AnswerArea>
      )}
    </div>
  )
}

interface FleetCount {
  readonly key: string | null
  readonly total: number
  readonly by_status: Readonly<Record<string, number>>
}

function countedGroup({ key, total, by_status }: FleetCount): CountedGroup {
  const counts = DEVICE_STATUSES.map((status) => by_status[status] ?? 0)
  const troubled = DEVICE_STATUSES.reduce(
    (sum, status, i) => sum + (WELL.has(status) ? 0 : (counts[i] ?? 0)),
    0,
  )
  return { name: key ?? '', total, counts, trouble: total === 0 ? 0 : troubled / total }
}
