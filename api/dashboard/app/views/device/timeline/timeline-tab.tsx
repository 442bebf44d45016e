// Everything that happened to the device, newest first: one stream, by kinds, back to what is kept.
import { useEffect, useState } from 'preact/hooks'
import { words as wordsOf } from '../../../address/codecs.ts'
import { MARKER_KINDS } from '../../../charts/marker.ts'
import { may } from '../../../data/access.ts'
import { useAnswer } from '../../../data/answers.ts'
import { fleet } from '../../../data/client.ts'
import { useWrite } from '../../../data/writes.ts'
import { useLiveAnswers } from '../../../live/live-answers.ts'
import { queryValue } from '../../../navigation/navigation.ts'
import { AnswerArea } from '../../../parts/answer-area.tsx'
import { Button } from '../../../parts/button.tsx'
import { ChoiceChips } from '../../../parts/choice-chips.tsx'
import { Empty } from '../../../parts/empty.tsx'
import type { TimelineEntry } from '../../../parts/entry-text.ts'
import { ProblemCard } from '../../../parts/problem-card.tsx'
import { words } from '../../../words/words.ts'
import type { TabProps } from '../tabs.ts'
import { Entry } from './entry.tsx'

const t = words({
  kinds: ['Kinds', 'Arten'],
  status: ['status', 'Status'],
  command: ['commands', 'Befehle'],
  shadow: ['shadow', 'Shadow'],
  ota: ['firmware', 'Firmware'],
  alert: ['alerts', 'Alarme'],
  none: ['Nothing of this kind has happened', 'Nichts dergleichen ist geschehen'],
  more: ['Load earlier entries', 'Frühere Einträge laden'],
  end: ['This is the beginning.', 'Das ist der Anfang.'],
  hidden: [
    'Entries of commands are for operators and admins.',
    'Einträge von Befehlen sind für Operatoren und Admins.',
  ],
})

const kinds = queryValue('kind', wordsOf())
const PAGE = 100

export default function TimelineTab({ device }: TabProps) {
  const { device_id: deviceId } = device
  const shown = MARKER_KINDS.filter((kind) => kind !== 'command' || may('sendCommand'))
  const chosen = shown.filter((kind) => kinds.value.includes(kind))
  const query = { limit: PAGE, ...(chosen.length > 0 ? { kind: chosen.join(',') } : {}) }
  const answer = useAnswer('listDeviceEvents', { device_id: deviceId, query })
  useLiveAnswers({ channel: 'events', filter: { device_id: deviceId } }, ['listDeviceEvents'])
  const [earlier, setEarlier] = useState<
    { entries: readonly TimelineEntry[]; cursor: string | null } | undefined
  >()
  const key = JSON.stringify(query)
  useEffect(() => setEarlier(undefined), [key, deviceId])
  const more = useWrite(async (cursor: string) => {
    const page = await fleet.listDeviceEvents({ device_id: deviceId, query: { ...query, cursor } })
    setEarlier((before) => ({
      entries: [...(before?.entries ?? []), ...page.data],
      cursor: page.next_cursor,
    }))
  })
  return (
    <div class="stack">
      <ChoiceChips label={t('kinds')} value={kinds} options={shown.map((kind) => [kind, t(kind)] as const)} />
      {!may('sendCommand') && <p class="hint">{t('hidden')}</p>}
      <AnswerArea answer={answer}>
        {({ data, next_cursor: first }) => {
          const cursor = earlier === undefined ? first : earlier.cursor
          const entries = [...data, ...(earlier?.entries ?? [])]
          return entries.length === 0 ? (
            <Empty title={t('none')} />
          ) : (
            <section class="card">
              <ol class="plain-list timeline">
                {entries.map((entry, index) => (
                  <Entry key={`${entry.timestamp} ${index}`} entry={entry} />
                ))}
              </ol>
              {more.error.value !== undefined && <ProblemCard error={more.error.value} />}
              {cursor === null ? (
                <p class="muted">{t('end')}</p>
              ) : (
                <Button isBusy={more.isUnderWay.value} onClick={() => void more.run(cursor)}>
                  {t('more')}
                </Button>
              )}
            </section>
          )
        }}
      </AnswerArea>
    </div>
  )
}
