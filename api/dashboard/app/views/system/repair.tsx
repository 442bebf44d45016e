// Rows that ClickHouse lost, restored from the log.

import { RefusalError } from '../../../../../schemas/client/errors.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Facts } from '../../parts/facts.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { stateWord } from '../../parts/state-words.ts'
import { number, words } from '../../words/words.ts'

const t = words({
  intro: [
    'A repair inserts rows that ClickHouse lost and the log still has. Existing rows do not change.',
    'Eine Reparatur fügt ein, was das Log noch hat und ClickHouse verlor. Vorhandene Zeilen ändern sich nicht.',
  ],
  start: ['Start repair', 'Reparatur starten'],
  none: ['No repairs so far', 'Noch war keine Reparatur nötig'],
  messages: ['Messages read', 'Gelesene Nachrichten'],
  rows: ['Rows inserted', 'Eingefügte Zeilen'],
})

export function Repair() {
  const answer = useAnswer('getRepair', {}, { everyMs: 2000 })
  const write = useWrite(async () => {
    await fleet.startRepair({})
    refreshAnswers('getRepair')
  })
  const isNever = answer.error instanceof RefusalError && answer.error.status === 404
  return (
    <section class="card">
      <p>{t('intro')}</p>
      {isNever ? (
        <Empty title={t('none')} />
      ) : (
        <AnswerArea answer={answer}>
          {({ status, started_at, messages, rows, progress, detail }) => (
            <>
              <Facts
                rows={[
                  [t('state'), `${stateWord(status)} ${detail ?? ''}`],
                  [t('started'), <Age at={started_at} />],
                  [t('messages'), number(messages)],
                  [t('rows'), number(rows)],
                ]}
              />
              {status === 'running' && <progress value={progress} max={1} aria-label={t('progress')} />}
            </>
          )}
        </AnswerArea>
      )}
      <ProblemCard error={write.error.value} />
      <p>
        <Button
          icon="wrench"
          write={write}
          isBusy={write.isUnderWay.value || answer.data?.status === 'running'}
          onClick={() => void write.run()}
        >
          {t('start')}
        </Button>
      </p>
    </section>
  )
}
