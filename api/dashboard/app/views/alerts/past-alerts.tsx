import { pathOf } from '../../address/routes.ts'
import { useAnswer } from '../../data/answers.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { stateWord } from '../../parts/state-words.ts'
import { duration } from '../../words/time.ts'
import { words } from '../../words/words.ts'

const t = words({
  title: ['Last 30 days', 'Die letzten 30 Tage'],
  times: [
    'This rule fired {n} time in this period. | This rule fired {n} times in this period.',
    'Diese Regel hat hier {n}-mal ausgelöst. | Diese Regel hat hier {n}-mal ausgelöst.',
  ],
  lasted: ['for {time}', '{time} lang'],
})

const SHOWN_MAX = 10

export interface PastAlertsProps {
  readonly ruleId: string
  readonly deviceId: string
}

/** How often the same rule fired on the same device. */
export function PastAlerts({ ruleId, deviceId }: PastAlertsProps) {
  const answer = useAnswer('listAlerts', {
    query: {
      rule_id: ruleId,
      device_id: deviceId,
      state: 'firing,recovering,resolved',
      from: '-30d',
      per_page: SHOWN_MAX,
    },
  })
  return (
    <section class="card">
      <h2>{t('title')}</h2>
      <AnswerArea answer={answer}>
        {({ data, total }) => (
          <>
            <p>{t('times', { n: total })}</p>
            <ul class="stack">
              {data.map(({ alert_id, fired_at, resolved_at, state }) => (
                <li key={`${alert_id} ${fired_at}`} class="row">
                  {alert_id === null ? (
                    <Age at={fired_at} />
                  ) : (
                    <a href={pathOf('alert', { alert_id })}>
                      <Age at={fired_at} />
                    </a>
                  )}
                  <span class="muted">
                    {stateWord(state)}
                    {fired_at !== null &&
                      resolved_at !== null &&
                      `, ${t('lasted', { time: duration(Date.parse(resolved_at) - Date.parse(fired_at)) })}`}
                  </span>
                </li>
              ))}
            </ul>
          </>
        )}
      </AnswerArea>
    </section>
  )
}
