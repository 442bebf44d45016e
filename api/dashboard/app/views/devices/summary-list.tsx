// The list of devices where there are more than a page keeps: the service finds and orders them, a page at a time.
import { text } from '../../address/codecs.ts'
import { parseQuery } from '../../address/filter.ts'
import { pathOf } from '../../address/routes.ts'
import { toServerQuery } from '../../address/server-filter.ts'
import { useAnswer } from '../../data/answers.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { FilterField } from '../../parts/filter-field.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { StatusMark } from '../../parts/status-mark.tsx'
import { SummaryNote } from '../../parts/summary-note.tsx'
import { t } from './device-words.ts'

const filter = queryValue('q', text())
const EVERY_MS = 5000

export function SummaryList({ total }: { readonly total: number }) {
  const query = parseQuery(filter.value)
  const { filter: wanted, unknown } = toServerQuery(query)
  const isWanted = unknown.length === 0
  const { tag, status, ...others } = wanted
  const answer = useAnswer(
    'listDevices',
    {
      query: {
        ...others,
        ...(tag === undefined ? {} : { tag: [...tag] }),
        ...(status === undefined ? {} : { status: [status] }),
        page: pageValue.value,
        sort: 'name:ASC',
      },
    },
    { everyMs: EVERY_MS, isWanted },
  )
  const setText = (next: string) => {
    filter.set(next)
    pageValue.set(1)
  }
  return (
    <div class="stack">
      <FilterField text={filter.value} onText={setText} />
      <SummaryNote total={total} query={query} unknown={unknown} onText={setText} />
      {isWanted && (
        <AnswerTable
          answer={answer}
          empty={<Empty title={t('none')} />}
          caption={t('grid')}
          idOf={({ device_id }) => device_id}
          columns={[
            { name: t('status'), cell: ({ status }) => <StatusMark status={status} /> },
            {
              name: t('name'),
              cell: ({ device_id, name }) => <a href={pathOf('device', { device_id })}>{plainText(name)}</a>,
            },
            { name: t('id'), cell: ({ device_id }) => <code>{device_id}</code> },
            { name: t('group'), cell: ({ group }) => plainText(group ?? '–') },
            { name: t('seen'), cell: ({ last_seen_at }) => <Age at={last_seen_at} /> },
          ]}
        />
      )}
    </div>
  )
}
