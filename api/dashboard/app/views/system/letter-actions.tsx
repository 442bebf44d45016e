// Replaying and discarding dead letters, one or all of a reason, after a look at how many it is about (D6).
import { useState } from 'preact/hooks'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import type { QueryValue } from '../../navigation/navigation.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { Button } from '../../parts/button.tsx'
import { ConfirmAction } from '../../parts/confirm-action.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { toast } from '../../parts/toasts.tsx'
import { number, words } from '../../words/words.ts'

const t = words({
  title: ['By reason', 'Nach Grund'],
  reason: ['Reason', 'Grund'],
  count: ['Letters', 'Nachrichten'],
  devices: ['Devices', 'Geräte'],
  newest: ['Newest', 'Neueste'],
  actions: ['Actions', 'Aktionen'],
  only: ['Show these', 'Nur diese'],
  all: ['Show all', 'Alle zeigen'],
  replay: ['Replay', 'Noch einmal verarbeiten'],
  discard: ['Discard', 'Verwerfen'],
  replaySays: [
    'Messages of {reason} to process once more, the oldest first: {n}. Left out, because only a part of them is kept: {skipped}. Each counts once, however often it is replayed.',
    'Nachrichten mit {reason}, die noch einmal verarbeitet werden, die älteste zuerst: {n}. Ausgelassen, weil nur ein Teil aufbewahrt ist: {skipped}. Jede zählt einmal, so oft sie auch verarbeitet wird.',
  ],
  discardSays: [
    'Messages of {reason} to remove: {n}. They cannot be had back.',
    'Nachrichten mit {reason}, die entfernt werden: {n}. Sie sind nicht wiederzubekommen.',
  ],
  done: ['{n} done, {skipped} left out', '{n} erledigt, {skipped} ausgelassen'],
  failed: ['It did not work: {reason}', 'Das ging nicht: {reason}'],
})

type Action = 'replay' | 'discard'
interface Plan {
  readonly action: Action
  readonly reason: string
  readonly done: number
  readonly skipped: number
}

const perform = (action: Action, reason: string, dry_run: boolean) => {
  const call = { body: { reason }, query: { dry_run } }
  return action === 'replay' ? fleet.replayDeadLetters(call) : fleet.discardDeadLetters(call)
}

export function LettersByReason({ reason }: { readonly reason: QueryValue<string> }) {
  const answer = useAnswer('summarizeDeadLetters', { query: {} }, { everyMs: 5000 })
  const [plan, setPlan] = useState<Plan | undefined>(undefined)
  const look = (action: Action, name: string) =>
    perform(action, name, true).then(
      ({ done, skipped }) => setPlan({ action, reason: name, done, skipped }),
      (error: Error) => toast({ text: t('failed', { reason: error.message }), isFailure: true }),
    )
  type Row = NonNullable<typeof answer.data>['data'][number]
  const columns: readonly Column<Row>[] = [
    { name: t('reason'), cell: (row) => <code>{row.reason}</code> },
    { name: t('count'), isNumber: true, cell: ({ count }) => number(count) },
    { name: t('devices'), isNumber: true, cell: ({ devices }) => number(devices) },
    { name: t('newest'), cell: ({ newest_at }) => <Age at={newest_at} /> },
    {
      name: t('actions'),
      cell: (row) => (
        <span class="row">
          <Button onClick={() => reason.set(reason.value === row.reason ? '' : row.reason)}>
            {reason.value === row.reason ? t('all') : t('only')}
          </Button>
          <Button icon="rotate-ccw" onClick={() => void look('replay', row.reason)}>
            {t('replay')}
          </Button>
          <Button icon="trash-2" onClick={() => void look('discard', row.reason)}>
            {t('discard')}
          </Button>
        </span>
      ),
    },
  ]
  return (
    <AnswerArea answer={answer}>
      {({ data }) =>
        data.length > 0 && (
          <section class="card">
            <h2>{t('title')}</h2>
            <DataTable caption={t('title')} columns={columns} rows={data} idOf={(row) => row.reason} />
            {plan !== undefined && (
              <ConfirmAction
                title={t(plan.action)}
                action={t(plan.action)}
                onConfirm={async () => {
                  const { done, skipped } = await perform(plan.action, plan.reason, false)
                  toast({ text: t('done', { n: done, skipped }) })
                  refreshAnswers('listDeadLetters', 'summarizeDeadLetters')
                }}
                onClose={() => setPlan(undefined)}
              >
                <p>{t(`${plan.action}Says`, { n: plan.done, skipped: plan.skipped, reason: plan.reason })}</p>
              </ConfirmAction>
            )}
          </section>
        )
      }
    </AnswerArea>
  )
}
