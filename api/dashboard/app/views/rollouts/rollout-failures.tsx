// The failures of a rollout by their cause. A cause filters the list of devices.
import type { JobBody } from '../../../../../schemas/deployment.ts'
import { text } from '../../address/codecs.ts'
import { type LiveAnswer, useAnswer } from '../../data/answers.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { stateWord } from '../../parts/state-words.ts'
import { number, words } from '../../words/words.ts'
import type { Deployment } from './progress-bar.tsx'
import { causeOf, failedCount, failuresByCause } from './rollout-health.ts'

const t = words({
  failures: ['Failures by cause', 'Fehlschläge nach Ursache'],
  bounded: [
    'Counted among the first {n} of {total} failures.',
    'Gezählt unter den ersten {n} von {total} Fehlschlägen.',
  ],
})

export const causeValue = queryValue('cause', text('', 128))
export const FAILED_QUERY = {
  status: 'failed,timed_out,rejected,rolled_back,rollback_failed',
  per_page: 200,
} as const

export function Failures({ deployment }: { readonly deployment: Deployment }) {
  const { deployment_id, kind, progress } = deployment
  const isWanted = failedCount(kind, progress) > 0
  const answer = useAnswer('listDeploymentDevices', { deployment_id, query: FAILED_QUERY }, { isWanted })
  if (!isWanted) return null
  return (
    <section class="card">
      <h2>{t('failures')}</h2>
      <AnswerArea answer={answer}>
        {({ data, total }) => (
          <>
            <ul class="row">
              {failuresByCause(data).map(({ cause, count }) => (
                <li key={cause}>
                  <button
                    type="button"
                    class="chip chip-choice"
                    aria-pressed={causeValue.value === cause}
                    onClick={() => causeValue.set(causeValue.value === cause ? '' : cause)}
                  >
                    ✕ {plainText(stateWord(cause))} {number(count)}
                  </button>
                </li>
              ))}
            </ul>
            {total > data.length && <p class="hint">{t('bounded', { n: data.length, total })}</p>}
          </>
        )}
      </AnswerArea>
    </section>
  )
}

/** Only those that failed for the chosen cause: the service gives all that failed. */
export function ofCause<Data extends { readonly data: readonly JobBody[]; readonly total: number }>(
  answer: LiveAnswer<Data>,
  cause: string,
): LiveAnswer<Data> {
  if (cause === '' || answer.data === undefined) return answer
  const data = answer.data.data.filter((job) => causeOf(job) === cause)
  return { ...answer, data: { ...answer.data, data, total: data.length } }
}
