import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { useAnswer } from '../../data/answers.ts'
import { words } from '../../words/words.ts'
import { READY_RULES } from './rule-words.ts'

const t = words({
  none: [
    'No rules yet, so nothing can fire. Here are three to start with; change them and test them on past data before you save.',
    'Es gibt noch keine Regel, also kann nichts anschlagen. Drei für den Anfang; jede lässt sich vor dem Speichern ändern und an der Vergangenheit erproben.',
  ],
  ask: [
    'No rules yet, so nothing can fire. An admin or operator creates them.',
    'Es gibt noch keine Regel, also kann nichts anschlagen. Regeln macht ein Admin oder Operator.',
  ],
})

/** Rules to begin with, where there is none. */
export function FirstRules() {
  const { data } = useAnswer('listAlertRules', { query: { per_page: 1 } })
  if (data === undefined || data.total > 0) return null
  if (!may('createAlertRule')) return <p>{t('ask')}</p>
  return (
    <>
      <p>{t('none')}</p>
      <ReadyRules />
    </>
  )
}

export function ReadyRules() {
  return (
    <ul class="row">
      {READY_RULES.map(({ id, name }) => (
        <li key={id}>
          <a class="button" href={pathOf('rule', { rule_id: 'new' }, { from: id })}>
            {name()}
          </a>
        </li>
      ))}
    </ul>
  )
}
