// What is done to one or many alerts: with a comment if one is wanted, one answer per alert.
import { useState } from 'preact/hooks'
import { fleet } from '../../data/client.ts'
import { user } from '../../data/session.ts'
import { useWrite } from '../../data/writes.ts'
import { Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { toast } from '../../parts/toasts.tsx'
import { localMs, localText } from '../../words/local-time.ts'
import { now } from '../../words/time.ts'
import { words } from '../../words/words.ts'

const t = words({
  ack: ['Acknowledge {n} alert | Acknowledge {n} alerts', '{n} Alarm bestätigen | {n} Alarme bestätigen'],
  resolve: ['Resolve {n} alert | Resolve {n} alerts', '{n} Alarm schließen | {n} Alarme schließen'],
  assign: [
    'Assign {n} alert to me | Assign {n} alerts to me',
    '{n} Alarm übernehmen | {n} Alarme übernehmen',
  ],
  snooze: ['Snooze {n} alert | Snooze {n} alerts', '{n} Alarm zurückstellen | {n} Alarme zurückstellen'],
  say: ['Comment on {n} alert | Comment on {n} alerts', '{n} Alarm kommentieren | {n} Alarme kommentieren'],
  sayText: ['The comment is added to each alert.', 'Der Kommentar bleibt bei jedem davon.'],
  empty: ['Write the comment first.', 'Schreiben Sie zuerst den Kommentar.'],
  snoozeText: [
    'It stays open, and nobody is notified until then.',
    'Er bleibt offen, und bis dahin wird niemand benachrichtigt.',
  ],
  until: ['Until', 'Bis'],
  resolved: ['it is resolved', 'er geschlossen ist'],
  tomorrow: ['tomorrow, 08:00', 'morgen, 08:00'],
  ackText: [
    'It stays open, and no more reminders are sent.',
    'Er bleibt offen, und niemand wird mehr daran erinnert.',
  ],
  resolveText: [
    'It ends now. If the cause persists, a new alert fires after the time below.',
    'Er endet jetzt. Besteht die Ursache weiter, folgt nach der Zeit unten ein neuer Alarm.',
  ],
  assignText: [
    'You are shown as the person working on it.',
    'Sie stehen als die Person darin, die sich kümmert.',
  ],
  comment: ['Comment', 'Kommentar'],
  quiet: ['Snooze for', 'Ruhe für'],
  none: ['not at all', 'gar nicht'],
  quarter: ['15 minutes', '15 Minuten'],
  hour: ['1 hour', '1 Stunde'],
  hours: ['4 hours', '4 Stunden'],
  day: ['1 day', '1 Tag'],
  undone: ['{n} could not be changed: {reason}', '{n} davon konnten nicht geändert werden: {reason}'],
  undo: ['Acknowledged', 'Bestätigt'],
})

export type AlertAction = 'ack' | 'snooze' | 'resolve' | 'assign' | 'say'
const LENGTHS = [
  ['900', 'quarter'],
  ['3600', 'hour'],
  ['14400', 'hours'],
  ['86400', 'day'],
] as const
const SNOOZES = [['0', 'none'], ...LENGTHS] as const
type Snooze = (typeof SNOOZES)[number][0]
/** The longest that the service takes: 366 days. A snooze ends with its alert. */
const WHOLE = '31622400'
const UNTILS = [...LENGTHS, ['tomorrow', 'tomorrow'], [WHOLE, 'resolved']] as const
type Until = (typeof UNTILS)[number][0]
const MORNING = '08:00'
const DAY_MS = 86_400_000

export interface AlertActionDialogProps {
  readonly action: AlertAction
  readonly alertIds: readonly string[]
  readonly onClose: (isDone: boolean) => void
}

export function AlertActionDialog({ action, alertIds, onClose }: AlertActionDialogProps) {
  const [comment, setComment] = useState('')
  const [snooze, setSnooze] = useState<Snooze>('0')
  const [until, setUntil] = useState<Until>('3600')
  const n = alertIds.length
  const write = useWrite(async () => {
    const results = await Promise.allSettled(
      alertIds.map((alert_id) => perform(action, alert_id, { comment, snooze, until })),
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
    else if (action === 'snooze')
      toast({
        text: t('snoozed'),
        undo: () => Promise.all(alertIds.map((alert_id) => fleet.unsnoozeAlert({ alert_id }))),
      })
    else if (action === 'ack')
      toast({
        text: t('undo'),
        undo: () => Promise.all(alertIds.map((alert_id) => fleet.unackAlert({ alert_id }))),
      })
    onClose(true)
  })
  const name = t(action, { n })
  return (
    <FormDialog
      title={name}
      action={name}
      write={write}
      disabledBecause={action === 'say' && comment.trim() === '' ? t('empty') : undefined}
      onClose={() => onClose(false)}
    >
      <p>{t(`${action}Text`)}</p>
      {action === 'snooze' && (
        <SelectField
          label={t('until')}
          options={UNTILS.map(([word, name]) => [word, t(name)] as const)}
          value={until}
          onValue={setUntil}
        />
      )}
      {(action === 'ack' || action === 'resolve' || action === 'say') && (
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
    </FormDialog>
  )
}

interface ActionInput {
  readonly comment: string
  readonly snooze: Snooze
  readonly until: Until
}

function perform(
  action: AlertAction,
  alert_id: string,
  { comment, snooze, until }: ActionInput,
): Promise<unknown> {
  const said = comment.trim() === '' ? {} : { comment: comment.trim() }
  const snooze_sec = Number(snooze)
  switch (action) {
    case 'ack':
      return fleet.ackAlert({ alert_id, body: said })
    case 'snooze':
      return fleet.snoozeAlert({
        alert_id,
        body: until === 'tomorrow' ? { until: tomorrowMorning() } : { for_sec: Number(until) },
      })
    case 'resolve':
      return fleet.resolveAlert({ alert_id, body: { ...said, ...(snooze_sec > 0 ? { snooze_sec } : {}) } })
    case 'say':
      return fleet.commentAlert({ alert_id, body: { text: comment.trim() } })
    case 'assign':
      return fleet.assignAlert({ alert_id, body: { user_id: user.peek()?.id ?? null } })
  }
}

/** The morning where the person is. */
function tomorrowMorning(): string {
  const today = Date.parse(`${localText(now.peek()).slice(0, 10)}T00:00Z`)
  const day = new Date(today + DAY_MS).toISOString().slice(0, 10)
  return new Date(localMs(`${day}T${MORNING}`)).toISOString()
}
