// What is done to one or many alerts: with a comment if one is wanted, one answer per alert.
import { useState } from 'preact/hooks'
import { fleet } from '../../data/client.ts'
import { user } from '../../data/session.ts'
import { useWrite } from '../../data/writes.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { toast } from '../../parts/toasts.tsx'
import { words } from '../../words/words.ts'

const t = words({
  ack: [
    { one: 'Acknowledge {n} alert', other: 'Acknowledge {n} alerts' },
    { one: '{n} Alarm bestätigen', other: '{n} Alarme bestätigen' },
  ],
  resolve: [
    { one: 'Resolve {n} alert', other: 'Resolve {n} alerts' },
    { one: '{n} Alarm schließen', other: '{n} Alarme schließen' },
  ],
  assign: [
    { one: 'Take over {n} alert', other: 'Take over {n} alerts' },
    { one: '{n} Alarm übernehmen', other: '{n} Alarme übernehmen' },
  ],
  ackSays: [
    'It stays open, and nobody is reminded of it again.',
    'Er bleibt offen, und niemand wird mehr daran erinnert.',
  ],
  resolveSays: [
    'It ends now. If what caused it is still there, a new alert follows after the time below.',
    'Er endet jetzt. Besteht die Ursache weiter, folgt nach der Zeit unten ein neuer Alarm.',
  ],
  assignSays: [
    'You are named as the one who looks into it.',
    'Sie stehen als die Person darin, die sich kümmert.',
  ],
  comment: ['Comment', 'Kommentar'],
  quiet: ['Quiet for', 'Ruhe für'],
  none: ['not at all', 'gar nicht'],
  quarter: ['15 minutes', '15 Minuten'],
  hour: ['1 hour', '1 Stunde'],
  hours: ['4 hours', '4 Stunden'],
  day: ['1 day', '1 Tag'],
  cancel: ['Cancel', 'Abbrechen'],
  undone: ['{n} of them could not be changed: {reason}', '{n} davon konnten nicht geändert werden: {reason}'],
  undo: ['Acknowledged', 'Bestätigt'],
})

export type AlertAction = 'ack' | 'resolve' | 'assign'
const SNOOZES = [
  ['0', 'none'],
  ['900', 'quarter'],
  ['3600', 'hour'],
  ['14400', 'hours'],
  ['86400', 'day'],
] as const
type Snooze = (typeof SNOOZES)[number][0]

export interface AlertActionDialogProps {
  readonly action: AlertAction
  readonly alertIds: readonly string[]
  readonly onClose: (isDone: boolean) => void
}

export function AlertActionDialog({ action, alertIds, onClose }: AlertActionDialogProps) {
  const [comment, setComment] = useState('')
  const [snooze, setSnooze] = useState<Snooze>('0')
  const n = alertIds.length
  const write = useWrite(async () => {
    const results = await Promise.allSettled(
      alertIds.map((alert_id) => perform(action, alert_id, comment, Number(snooze))),
    )
    const failed = results.filter((result) => result.status === 'rejected')
    const [first] = failed
    // Nothing was done: the dialog stays with what is wrong.
    if (first !== undefined && failed.length === n) throw first.reason
    if (first !== undefined)
      toast({
        text: t('undone', { n: failed.length, reason: String((first.reason as Error).message) }),
        isFailure: true,
      })
    else if (action === 'ack')
      toast({
        text: t('undo'),
        undo: () => void Promise.allSettled(alertIds.map((alert_id) => fleet.unackAlert({ alert_id }))),
      })
    onClose(true)
  })
  const name = t(action, { n })
  return (
    <Dialog
      title={name}
      onClose={() => onClose(false)}
      actions={
        <>
          <Button onClick={() => onClose(false)}>{t('cancel')}</Button>
          <Button kind="primary" isBusy={write.isUnderWay.value} onClick={() => void write.run()}>
            {name}
          </Button>
        </>
      }
    >
      <p>{t(`${action}Says`)}</p>
      {action !== 'assign' && (
        <Field label={t('comment')} value={comment} onValue={setComment} maxLength={2000} />
      )}
      {action === 'resolve' && (
        <SelectField
          label={t('quiet')}
          options={SNOOZES.map(([seconds, word]) => [seconds, t(word)] as const)}
          value={snooze}
          onValue={setSnooze}
        />
      )}
      {write.error.value !== undefined && <ProblemCard error={write.error.value} />}
    </Dialog>
  )
}

function perform(
  action: AlertAction,
  alert_id: string,
  comment: string,
  snooze_sec: number,
): Promise<unknown> {
  const said = comment.trim() === '' ? {} : { comment: comment.trim() }
  switch (action) {
    case 'ack':
      return fleet.ackAlert({ alert_id, body: said })
    case 'resolve':
      return fleet.resolveAlert({ alert_id, body: { ...said, ...(snooze_sec > 0 ? { snooze_sec } : {}) } })
    case 'assign':
      return fleet.assignAlert({ alert_id, body: { user_id: user.peek()?.id ?? null } })
  }
}
