// Who did what, with what outcome.

import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { AUDIT_OUTCOMES } from '../../../../../schemas/vocabulary.ts'
import { oneOf, text } from '../../address/codecs.ts'
import { omitEmpty } from '../../address/omit-empty.ts'
import { useAnswer } from '../../data/answers.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { Button } from '../../parts/button.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Field } from '../../parts/field.tsx'
import { NoneFits } from '../../parts/filter-chips.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { SelectField } from '../../parts/select-field.tsx'
import { TimeFilter, timesInAddress } from '../../parts/time-filter.tsx'
import { words } from '../../words/words.ts'

const t = words({
  who: ['Who', 'Wer'],
  action: ['What', 'Was'],
  target: ['Target', 'Woran'],
  outcome: ['Outcome', 'Ergebnis'],
  any: ['any', 'jedes'],
  success: ['success', 'gelungen'],
  refused: ['refused', 'abgelehnt'],
  failed: ['failed', 'misslungen'],
  only: ['Only by {name}', 'Nur, was {name} tat'],
  none: ['Nothing matches these filters', 'Nichts passt zu diesen Filtern'],
  times: ['{n} times', '{n}-mal'],
})

type Entry = ReplyOf<Operations['listAudit']>['data'][number]

const actor = queryValue('actor', text())
const action = queryValue('action', text())
const target = queryValue('target', text())
const device = queryValue('device', text())
const outcome = queryValue('outcome', oneOf(['', ...AUDIT_OUTCOMES] as const, ''))

export function Audit() {
  const query = {
    ...timesInAddress(),
    ...omitEmpty({
      actor: actor.value,
      action: action.value,
      target: target.value,
      device_id: device.value,
      outcome: outcome.value,
    }),
  }
  const answer = useAnswer(
    'listAudit',
    { query: { ...query, page: pageValue.value, per_page: 50 } },
    { everyMs: 10_000 },
  )
  const columns: readonly Column<Entry>[] = [
    { name: t('when'), cell: ({ at }) => <Age at={at} /> },
    {
      name: t('who'),
      cell: ({ actor: { id, name, type } }) =>
        id === null ? (
          type
        ) : (
          <Button kind="quiet" label={t('only', { name: name ?? id })} onClick={() => actor.set(id)}>
            {plainText(name ?? id)}
          </Button>
        ),
    },
    {
      name: t('action'),
      cell: ({ action: what, count }) => (
        <>
          <code>{what}</code>
          {count > 1 && <span class="table-more">{t('times', { n: count })}</span>}
        </>
      ),
    },
    { name: t('target'), cell: ({ target: path }) => plainText(path ?? '–') },
    {
      name: t('outcome'),
      cell: ({ outcome: word, code }) => (
        <span class={word === 'success' ? undefined : 'severity-warning'}>
          {t(word)} {code}
        </span>
      ),
    },
    { name: t('from'), cell: ({ ip }) => ip ?? '–' },
  ]
  return (
    <>
      <div class="filters">
        <Field label={t('who')} value={actor.value} onValue={actor.set} spellcheck={false} />
        <Field label={t('action')} value={action.value} onValue={action.set} spellcheck={false} />
        <Field label={t('target')} value={target.value} onValue={target.set} spellcheck={false} />
        <Field label={t('device')} value={device.value} onValue={device.set} spellcheck={false} />
        <TimeFilter />
        <SelectField
          label={t('outcome')}
          options={[['', t('any')], ...AUDIT_OUTCOMES.map((word) => [word, t(word)] as const)]}
          value={outcome.value}
          onValue={outcome.set}
        />
      </div>
      <AnswerTable
        answer={answer}
        empty={
          <NoneFits
            title={t('none')}
            names={['actor', 'action', 'target', 'device', 'from', 'to', 'outcome']}
          />
        }
        caption={t('audit')}
        columns={columns}
        idOf={({ id }) => id}
      />
    </>
  )
}
