// Replaying and discarding dead letters, one or all of a reason, after a look at how many it is about (D6).
import { useState } from 'preact/hooks'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import type { QueryValue } from '../../navigation/navigation.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { Button } from '../../parts/button.tsx'
import { ConfirmAction } from '../../parts/confirm-action.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
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
    'Messages of {reason} to remove: {n}. They cannot be restored.',
    'Nachrichten mit {reason}, die entfernt werden: {n}. Sie sind nicht wiederzubekommen.',
  ],
  replayed: ['The message is processed once more.', 'Die Nachricht wird noch einmal verarbeitet.'],
  discarded: ['The message is removed.', 'Die Nachricht ist entfernt.'],
  sure: ['Remove it for good', 'Endgültig entfernen'],
  done: ['{n} done, {skipped} left out', '{n} erledigt, {skipped} ausgelassen'],
  failed: ['It did not work: {reason}', 'Das ging nicht: {reason}'],
})

type Action = 'replay' | 'discard'
interface Plan extends About {
  readonly action: Action
  readonly done: number
  readonly skipped: number
}

interface About {
  readonly reason: string
  /** Letters of this device only; empty: of all. */
  readonly deviceId: string
}

const perform = (action: Action, { reason, deviceId }: About, dry_run: boolean) => {
  const call = {
    body: { reason, ...(deviceId === '' ? {} : { device_id: deviceId }) },
    query: { dry_run },
  }
  return action === 'replay' ? fleet.replayDeadLetters(call) : fleet.discardDeadLetters(call)
}

export interface LettersByReasonProps {
  readonly reason: QueryValue<string>
  /** The device that the list is filtered by; empty: any. */
  readonly deviceId: string
}

export function LettersByReason({ reason, deviceId }: LettersByReasonProps) {
  const answer = useAnswer('summarizeDeadLetters', { query: {} }, { everyMs: 5000 })
  const [plan, setPlan] = useState<Plan | undefined>(undefined)
  const look = (action: Action, name: string) =>
    perform(action, { reason: name, deviceId }, true).then(
      ({ done, skipped }) => setPlan({ action, reason: name, deviceId, done, skipped }),
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
                action={t(plan.action)}
                onConfirm={async () => {
                  const { done, skipped } = await perform(
                    plan.action,
                    { reason: plan.reason, deviceId: plan.deviceId },
                    false,
                  )
                  toast({ text: t('done', { n: done, skipped }) })
                  refreshAnswers('listDeadLetters', 'summarizeDeadLetters')
                }}
                onClose={() => setPlan(undefined)}
              >
                <p>
                  {t(`${plan.action}Says`, {
                    n: plan.done,
                    skipped: plan.skipped,
                    reason: [plan.reason, plan.deviceId].filter(Boolean).join(', '),
                  })}
                </p>
              </ConfirmAction>
            )}
          </section>
        )
      }
    </AnswerArea>
  )
}

export interface OneLetterProps {
  readonly letter: { readonly id: string }
  readonly onDone: () => void
}

/** What is done with a single letter, beside its text: that is the look before it. */
export function OneLetter({ letter: { id }, onDone }: OneLetterProps) {
  const [isSure, setSure] = useState(false)
  const write = useWrite(async (action: Action) => {
    const call = { letter_id: id }
    await (action === 'replay' ? fleet.replayDeadLetter(call) : fleet.discardDeadLetter(call))
    toast({ text: t(action === 'replay' ? 'replayed' : 'discarded') })
    refreshAnswers('listDeadLetters', 'summarizeDeadLetters')
    onDone()
  })
  return (
    <>
      {write.error.value !== undefined && <ProblemCard error={write.error.value} />}
      <Button icon="rotate-ccw" write={write} onClick={() => void write.run('replay')}>
        {t('replay')}
      </Button>
      {isSure ? (
        <Button kind="danger" icon="trash-2" write={write} onClick={() => void write.run('discard')}>
          {t('sure')}
        </Button>
      ) : (
        <Button icon="trash-2" onClick={() => setSure(true)}>
          {t('discard')}
        </Button>
      )}
    </>
  )
}
