// Log lines of all devices, newest first. What is searched for is searched by the service, over two weeks.

import { LOG_LEVELS } from '../../../../../schemas/vocabulary.ts'
import { text, words as wordList } from '../../address/codecs.ts'
import { omitEmpty } from '../../address/omit-empty.ts'
import { pathOf } from '../../address/routes.ts'
import { fleet } from '../../data/client.ts'
import { useFeed } from '../../data/feed.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { ChoiceChips } from '../../parts/choice-chips.tsx'
import { CopyField } from '../../parts/copy-field.tsx'
import { Empty } from '../../parts/empty.tsx'
import { FeedArea } from '../../parts/feed-area.tsx'
import { Field } from '../../parts/field.tsx'
import { NoneFits } from '../../parts/filter-chips.tsx'
import { type LogEntry, toLine } from '../../parts/log-ring.ts'
import { LogRow } from '../../parts/log-row.tsx'
import { NewEntries } from '../../parts/new-entries.tsx'
import { Page } from '../../parts/page.tsx'
import { TimeFilter, timesInAddress } from '../../parts/time-filter.tsx'
import { words } from '../../words/words.ts'

const t = words({
  none: [
    'No device has logged anything in the last two weeks',
    'Kein Gerät hat in den letzten zwei Wochen etwas geloggt',
  ],
  how: ['A line is a message of a device:', 'Eine Zeile ist eine Nachricht eines Geräts:'],
  match: ['No lines match these filters', 'Keine Zeile passt zu diesen Filtern'],
})

const levelValue = queryValue('level', wordList())
const findValue = queryValue('find', text('', 200))
const groupValue = queryValue('group', text())
const deviceValue = queryValue('device', text())

export default function Logs() {
  const level = levelValue.value
  const find = findValue.value
  const group = groupValue.value
  const device = deviceValue.value
  const times = timesInAddress()
  const filters = {
    ...times,
    ...omitEmpty({ level: level.join(','), find, group, device_id: device }),
  }
  const query = { ...filters, limit: 200 }
  const key = JSON.stringify(query)
  const feed = useFeed(key, (cursor) =>
    fleet.listFleetLogs({ query: { ...query, ...omitEmpty({ cursor }) } }),
  )
  const wanted = find.toLowerCase()
  const fits = ({ level: word, message, logger }: LogEntry) =>
    (level.length === 0 || level.includes(word)) &&
    [message, logger ?? ''].some((said) => said.toLowerCase().includes(wanted))
  return (
    <Page
      title={t('logs')}
      actions={
        <NewEntries
          watch={{ channel: 'logs', filter: omitEmpty({ group, device_id: device }) }}
          fits={fits}
          to={times.to}
          feedKey={key}
          onReload={feed.reload}
        />
      }
    >
      <div class="filters">
        <Field label={t('find')} type="search" value={find} onValue={findValue.set} />
        <Field label={t('device')} value={device} onValue={deviceValue.set} spellcheck={false} />
        <Field label={t('group')} value={group} onValue={groupValue.set} spellcheck={false} />
        <TimeFilter />
        <ChoiceChips
          label={t('levels')}
          options={LOG_LEVELS.map((word) => [word, word] as const)}
          value={levelValue}
        />
      </div>
      <FeedArea
        feed={feed}
        empty={
          Object.keys(filters).length > 0 ? (
            <NoneFits title={t('match')} names={['find', 'device', 'group', 'from', 'to', 'level']} />
          ) : (
            <Empty title={t('none')}>
              <p>{t('how')}</p>
              <CopyField
                label={t('topicAndExample')}
                text={'fleet/robot-7/log  {"level":"warn","message":"the wheel slips"}'}
              />
            </Empty>
          )
        }
      >
        {(entries) => (
          <ol class="card feed-lines">
            {entries.map((entry, index) => (
              <li key={`${entry.timestamp} ${index}`} class="feed-line">
                <a href={pathOf('deviceTab', { device_id: entry.device_id, tab: 'logs' })}>
                  {entry.device_id}
                </a>
                <LogRow line={toLine(entry)} find={find} onFill={() => undefined} />
              </li>
            ))}
          </ol>
        )}
      </FeedArea>
    </Page>
  )
}
