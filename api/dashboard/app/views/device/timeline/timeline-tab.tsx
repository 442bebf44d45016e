// Everything that happened to the device, newest first: one stream, by kinds, back to what is kept.

import { words as wordsOf } from '../../../address/codecs.ts'
import { omitEmpty } from '../../../address/omit-empty.ts'
import { MARKER_KINDS } from '../../../charts/marker.ts'
import { may } from '../../../data/access.ts'
import { fleet } from '../../../data/client.ts'
import { useFeed } from '../../../data/feed.ts'
import { queryValue } from '../../../navigation/navigation.ts'
import { ChoiceChips } from '../../../parts/choice-chips.tsx'
import { Empty } from '../../../parts/empty.tsx'
import type { TimelineEntry } from '../../../parts/entry-text.ts'
import { FeedArea } from '../../../parts/feed-area.tsx'
import { NewEntries } from '../../../parts/new-entries.tsx'
import { words } from '../../../words/words.ts'
import type { TabProps } from '../tabs.ts'
import { Entry } from './entry.tsx'

const t = words({
  status: ['status', 'Status'],
  command: ['commands', 'Befehle'],
  ota: ['firmware', 'Firmware'],
  alert: ['alerts', 'Alarme'],
  none: ['No events of this kind', 'Nichts dergleichen ist geschehen'],
  hidden: [
    'Seeing commands needs the role operator.',
    'Einträge von Befehlen sind für Operatoren und Admins.',
  ],
})

const kinds = queryValue('kind', wordsOf())
const PAGE = 100

export default function TimelineTab({ device }: TabProps) {
  const { device_id } = device
  const shown = MARKER_KINDS.filter((kind) => kind !== 'command' || may('sendCommand'))
  const chosen = shown.filter((kind) => kinds.value.includes(kind))
  const query = { limit: PAGE, ...omitEmpty({ kind: chosen.join(',') }) }
  const key = `${device_id} ${JSON.stringify(query)}`
  const feed = useFeed(key, (cursor) =>
    fleet.listDeviceEvents({ device_id, query: { ...query, ...omitEmpty({ cursor }) } }),
  )
  return (
    <div class="stack">
      <div class="row">
        <ChoiceChips
          label={t('kinds')}
          value={kinds}
          options={shown.map((kind) => [kind, t(kind)] as const)}
        />
        <NewEntries
          watch={{ channel: 'events', filter: { device_id } }}
          fits={({ kind }: TimelineEntry) => chosen.length === 0 || chosen.some((word) => word === kind)}
          feedKey={key}
          onReload={feed.reload}
        />
      </div>
      {!may('sendCommand') && <p class="hint">{t('hidden')}</p>}
      <FeedArea feed={feed} empty={<Empty title={t('none')} />}>
        {(entries) => (
          <section class="card">
            <ol class="plain-list timeline">
              {entries.map((entry, index) => (
                <Entry key={`${entry.timestamp} ${index}`} entry={entry} />
              ))}
            </ol>
          </section>
        )}
      </FeedArea>
    </div>
  )
}
