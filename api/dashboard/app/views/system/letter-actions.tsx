// Replaying and discarding dead letters, one or all of a reason, after a look at how many it is about (D6).
import { useEffect, useState } from 'preact/hooks'
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
  count: ['Letters', 'Nachrichten'],
  newest: ['Newest', 'Neueste'],
  only: ['Show these', 'Nur diese'],
  all: ['Show all', 'Alle zeigen'],
  replay: ['Replay', 'Noch einmal verarbeiten'],
  discard: ['Discard', 'Verwerfen'],
  replayText: [
    'Messages with {reason} to replay, oldest first: {n}. Skipped, because only a part of them is kept: {skipped}. Each counts once, however often it is replayed.',
    'Nachrichten mit {reason}, die noch einmal verarbeitet werden, die älteste zuerst: {n}. Ausgelassen, weil nur ein Teil aufbewahrt ist: {skipped}. Jede zählt einmal, so oft sie auch verarbeitet wird.',
  ],
  discardText: [
    'Messages with {reason} to discard: {n}. They cannot be restored.',
    'Nachrichten mit {reason}, die entfernt werden: {n}. Sie sind nicht wiederzubekommen.',
  ],
  replayed: ['Message replayed.', 'Die Nachricht wird noch einmal verarbeitet.'],
  discarded: ['Message discarded.', 'Die Nachricht ist entfernt.'],
  sure: ['Discard for good', 'Endgültig entfernen'],
  done: ['{n} done, {skipped} skipped', '{n} erledigt, {skipped} ausgelassen'],
  failed: ['Failed: {reason}', 'Das ging nicht: {reason}'],
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
  const look = async (action: Action, name: string) =>
    setPlan(await planOf(action, { reason: name, deviceId }))
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
            {plan !== undefined && <ConfirmPlan plan={plan} onClose={() => setPlan(undefined)} />}
          </section>
        )
      }
    </AnswerArea>
  )
}

/** What it would do; undefined if that could not be asked, which has been said. */
function planOf(action: Action, about: About): Promise<Plan | undefined> {
  return perform(action, about, true).then(
    ({ done, skipped }) => ({ ...about, action, done, skipped }),
    (error: Error) => {
      toast({ text: t('failed', { reason: error.message }), isFailure: true })
      return undefined
    },
  )
}

function ConfirmPlan({ plan, onClose }: { readonly plan: Plan; readonly onClose: () => void }) {
  const { action, reason, deviceId, done: n, skipped } = plan
  return (
    <ConfirmAction
      action={t(action)}
      onConfirm={async () => {
        const result = await perform(action, plan, false)
        toast({ text: t('done', { n: result.done, skipped: result.skipped }) })
        refreshAnswers('listDeadLetters', 'summarizeDeadLetters')
      }}
      onClose={onClose}
    >
      <p>{t(`${action}Text`, { n, skipped, reason: [reason, deviceId].filter(Boolean).join(', ') })}</p>
    </ConfirmAction>
  )
}

export interface ReplayLettersProps {
  readonly reason: string
  readonly onClose: () => void
}

/** All of a reason, from anywhere: the look at how many it is about comes first. */
export function ReplayLetters({ reason, onClose }: ReplayLettersProps) {
  const [plan, setPlan] = useState<Plan | undefined>(undefined)
  useEffect(() => {
    void planOf('replay', { reason, deviceId: '' }).then((found) => {
      if (found === undefined) onClose()
      else setPlan(found)
    })
  }, [reason])
  return plan === undefined ? null : <ConfirmPlan plan={plan} onClose={onClose} />
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
      <ProblemCard error={write.error.value} />
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
