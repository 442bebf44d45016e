// What happened to all devices, newest first.

import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { text, words as wordList } from '../../address/codecs.ts'
import { omitEmpty } from '../../address/omit-empty.ts'
import { pathOf } from '../../address/routes.ts'
import { MARKER_KINDS } from '../../charts/marker.ts'
import { may } from '../../data/access.ts'
import { fleet } from '../../data/client.ts'
import { useFeed } from '../../data/feed.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { Age } from '../../parts/age.tsx'
import { ChoiceChips } from '../../parts/choice-chips.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { entryDetail, entryText } from '../../parts/entry-text.ts'
import { FeedArea } from '../../parts/feed-area.tsx'
import { Field } from '../../parts/field.tsx'
import { NoneFits } from '../../parts/filter-chips.tsx'
import { NewEntries } from '../../parts/new-entries.tsx'
import { Page } from '../../parts/page.tsx'
import { TimeFilter, timesInAddress } from '../../parts/time-filter.tsx'
import { words } from '../../words/words.ts'

const t = words({
  status: ['status', 'Status'],
  command: ['commands', 'Befehle'],
  ota: ['firmware', 'Firmware'],
  alert: ['alerts', 'Alarme'],
  none: ['No events yet', 'Noch ist nichts geschehen'],
  match: ['Nothing matches these filters', 'Nichts passt zu diesen Filtern'],
  hidden: [
    'Seeing commands needs the role operator.',
    'Einträge von Befehlen sind für Operatoren und Admins.',
  ],
})

type Entry = ReplyOf<Operations['listFleetEvents']>['data'][number]
const kindValue = queryValue('kind', wordList())
const groupValue = queryValue('group', text())
const deviceValue = queryValue('device', text())

export default function Timeline() {
  const seesCommands = may('listFleetCommands')
  const kind = kindValue.value
  const group = groupValue.value
  const device = deviceValue.value
  const times = timesInAddress()
  const filters = {
    ...times,
    ...omitEmpty({ kind: kind.join(','), group, device_id: device }),
  }
  const query = { ...filters, limit: 100 }
  const key = JSON.stringify(query)
  const feed = useFeed(key, (cursor) =>
    fleet.listFleetEvents({ query: { ...query, ...omitEmpty({ cursor }) } }),
  )
  const columns: readonly Column<Entry>[] = [
    { name: t('when'), cell: ({ timestamp }) => <Age at={timestamp} /> },
    { name: t('device'), cell: ({ device_id }) => <a href={pathOf('device', { device_id })}>{device_id}</a> },
    {
      name: t('what'),
      cell: (entry) => (
        <>
          {entryText(entry)} <span class="muted">{entryDetail(entry)}</span>
        </>
      ),
    },
  ]
  return (
    <Page
      title={t('timeline')}
      actions={
        <NewEntries
          watch={{ channel: 'events', filter: omitEmpty({ group, device_id: device }) }}
          fits={({ kind: word }: Entry) => kind.length === 0 || kind.includes(word)}
          to={times.to}
          feedKey={key}
          onReload={feed.reload}
        />
      }
    >
      <div class="filters">
        <Field label={t('device')} value={device} onValue={deviceValue.set} spellcheck={false} />
        <Field label={t('group')} value={group} onValue={groupValue.set} spellcheck={false} />
        <TimeFilter />
        <ChoiceChips
          label={t('kinds')}
          options={MARKER_KINDS.filter((word) => word !== 'command' || seesCommands).map(
            (word) => [word, t(word)] as const,
          )}
          value={kindValue}
        />
      </div>
      {!seesCommands && <p class="hint">{t('hidden')}</p>}
      <FeedArea
        feed={feed}
        empty={
          Object.keys(filters).length > 0 ? (
            <NoneFits title={t('match')} names={['device', 'group', 'from', 'to', 'kind']} />
          ) : (
            <Empty title={t('none')} />
          )
        }
      >
        {(entries) => (
          <DataTable
            caption={t('timeline')}
            columns={columns}
            rows={entries.map(numbered)}
            idOf={({ row }) => row}
          />
        )}
      </FeedArea>
    </Page>
  )
}

/** Entries have no id of their own, and two of them may be equal. */
const numbered = (entry: Entry, index: number) => ({ ...entry, row: String(index) })
