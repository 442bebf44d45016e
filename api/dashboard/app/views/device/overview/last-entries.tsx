import { pathOf } from '../../../address/routes.ts'
import { useAnswer } from '../../../data/answers.ts'
import { useLiveAnswers } from '../../../live/live-answers.ts'
import { AnswerArea } from '../../../parts/answer-area.tsx'
import { words } from '../../../words/words.ts'
import '../device.css'
import { Entry } from '../timeline/entry.tsx'

const t = words({
  title: ['Recent activity', 'Letzte Einträge'],
  none: ['No events yet.', 'Noch ist nichts geschehen.'],
  all: ['Whole timeline', 'Ganzer Verlauf'],
})

export interface LastEntriesProps {
  readonly deviceId: string
  /** False shows those of the moment in which the page was opened. */
  readonly isLive?: boolean
}

export function LastEntries({ deviceId, isLive = true }: LastEntriesProps) {
  const answer = useAnswer('listDeviceEvents', { device_id: deviceId, query: { limit: 6 } })
  const watch = { channel: 'events', filter: { device_id: deviceId } } as const
  useLiveAnswers(isLive ? watch : undefined, ['listDeviceEvents'])
  return (
    <section class="card">
      <div class="row card-head">
        <h2>{t('title')}</h2>
        <a href={pathOf('deviceTab', { device_id: deviceId, tab: 'timeline' })}>{t('all')}</a>
      </div>
      <AnswerArea answer={answer}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="muted">{t('none')}</p>
          ) : (
            <ol class="plain-list">
              {data.map((entry, index) => (
                <Entry key={`${entry.timestamp} ${entry.kind} ${index}`} entry={entry} />
              ))}
            </ol>
          )
        }
      </AnswerArea>
    </section>
  )
}
