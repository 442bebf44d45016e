// One alert: what was wrong, since when, what was done about it, and by whom.

import { useMemo, useState } from 'preact/hooks'
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { type Params, pathOf } from '../../address/routes.ts'
import type { Marker } from '../../charts/marker.ts'
import { may } from '../../data/access.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import { useLiveAnswers } from '../../live/live-answers.ts'
import { Age } from '../../parts/age.tsx'
import { alertText, mutedText } from '../../parts/alert-text.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { Button } from '../../parts/button.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Field } from '../../parts/field.tsx'
import { Page } from '../../parts/page.tsx'
import { personText } from '../../parts/person-text.ts'
import { plainText } from '../../parts/plain-text.ts'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { SeverityMark } from '../../parts/severity-mark.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { stateWord } from '../../parts/state-words.ts'
import { submits } from '../../parts/submits.ts'
import { instant, now } from '../../words/time.ts'
import { number, words } from '../../words/words.ts'
import { LastEntries } from '../device/overview/last-entries.tsx'
import { type AlertAction, AlertActionDialog } from './action-dialog.tsx'
import { MomentChart, spanAround } from './moment-chart.tsx'
import { PastAlerts } from './past-alerts.tsx'

const t = words({
  threshold: ['Threshold', 'Schwelle'],
  began: ['Began', 'Begonnen'],
  fired: ['Fired', 'Ausgelöst'],
  resolved: ['Resolved', 'Geschlossen'],
  owner: ['Assigned to', 'In Arbeit bei'],
  acked: ['Acknowledged by', 'Bestätigt von'],
  muted: ['Notifications muted', 'Nicht gemeldet'],
  comments: ['Comments', 'Kommentare'],
  noComments: ['No comment yet.', 'Noch kein Kommentar.'],
  comment: ['Your comment', 'Ihr Kommentar'],
  ack: ['Acknowledge', 'Bestätigen'],
  unack: ['Undo acknowledgement', 'Bestätigung zurücknehmen'],
  unsnooze: ['End the snooze', 'Zurückstellen beenden'],
  snoozed: ['Snoozed until', 'Zurückgestellt bis'],
  role: [
    'Acting on alerts needs the role operator.',
    'Als Viewer können Sie nicht handeln; dazu braucht es die Rolle Operator.',
  ],
  assign: ['Assign to me', 'Übernehmen'],
  others: ['Same rule on other devices', 'Dieselbe Regel auf anderen Geräten'],
})

type Alert = ReplyOf<Operations['getAlert']>

export default function AlertView({ params }: { readonly params: Params }) {
  const alert_id = params['alert_id'] ?? ''
  const answer = useAnswer('getAlert', { alert_id })
  const [action, setAction] = useState<AlertAction | undefined>(undefined)
  const deviceId = answer.data?.device_id
  // One about the fleet has no device, and no filter finds it among the others.
  const filter = deviceId == null ? {} : { device_id: deviceId }
  useLiveAnswers(deviceId === undefined ? undefined : { channel: 'alerts', filter }, ['getAlert'])
  const { data } = answer
  const isOpen = data !== undefined && data.state !== 'resolved'
  const renew = () => refreshAnswers('getAlert', 'listAlerts', 'getAlertSummary')
  const unack = useWrite(() => fleet.unackAlert({ alert_id }).then(renew))
  const unsnooze = useWrite(() => fleet.unsnoozeAlert({ alert_id }).then(renew))
  const isSnoozed = data?.snoozed_until != null && Date.parse(data.snoozed_until) > now.value
  const mayAct = may('ackAlert') && isOpen
  useShortcuts(
    mayAct
      ? [
          ...(data.acknowledged ? [] : [{ keys: 'e', label: t('ack'), run: () => setAction('ack') }]),
          ...(isSnoozed ? [] : [{ keys: 'h', label: t('snooze'), run: () => setAction('snooze') }]),
        ]
      : [],
  )
  return (
    <Page
      title={data === undefined ? t('alert') : plainText(data.rule_name)}
      mark={data !== undefined && <SeverityMark severity={data.severity} />}
      actions={
        mayAct && (
          <>
            {data.acknowledged ? (
              <Button write={unack} onClick={() => void unack.run()}>
                {t('unack')}
              </Button>
            ) : (
              <Button icon="check" shortcut="e" onClick={() => setAction('ack')}>
                {t('ack')}
              </Button>
            )}
            {isSnoozed ? (
              <Button write={unsnooze} onClick={() => void unsnooze.run()}>
                {t('unsnooze')}
              </Button>
            ) : (
              <Button icon="bell-off" shortcut="h" onClick={() => setAction('snooze')}>
                {t('snooze')}
              </Button>
            )}
            <Button onClick={() => setAction('assign')}>{t('assign')}</Button>
            <Button icon="x" onClick={() => setAction('resolve')}>
              {t('resolve')}
            </Button>
          </>
        )
      }
    >
      {[unack, unsnooze].map(
        (write, at) => write.error.value !== undefined && <ProblemCard key={at} error={write.error.value} />,
      )}
      {isOpen && !may('ackAlert') && <p class="muted">{t('role')}</p>}
      <AnswerArea answer={answer}>
        {(alert) => (
          <div class="stack">
            <Around alert={alert} />
            <div class="cards">
              <AlertFacts alert={alert} />
              <Comments alert={alert} />
              <Moves alert={alert} />
              {alert.device_id !== null && <PastAlerts ruleId={alert.rule_id} deviceId={alert.device_id} />}
            </div>
            {alert.device_id !== null && <LastEntries deviceId={alert.device_id} isLive={false} />}
          </div>
        )}
      </AnswerArea>
      {action !== undefined && (
        <AlertActionDialog
          action={action}
          alertIds={[alert_id]}
          onClose={(isDone) => {
            setAction(undefined)
            if (isDone) refreshAnswers('getAlert', 'listAlerts', 'getAlertSummary')
          }}
        />
      )}
    </Page>
  )
}

const AROUND_MS = 1_800_000

/** The judged value from before the alert began until after it ended, or until now. */
function Around({ alert }: { readonly alert: Alert }) {
  const { device_id, metric, value, threshold, started_at, fired_at, resolved_at } = alert
  // A chart that moved on by itself would lose a range that was chosen in it.
  const [opened] = useState(now.peek())
  const span = useMemo(
    () => spanAround([Date.parse(started_at), Date.parse(resolved_at ?? '') || opened], AROUND_MS),
    [started_at, resolved_at, opened],
  )
  const markers = useMemo((): readonly Marker[] => {
    return fired_at === null ? [] : [{ at: Date.parse(fired_at), kind: 'alert', text: t('fired') }]
  }, [fired_at])
  // A text has no line.
  if (device_id === null || metric === null || typeof value !== 'number') return null
  const limits = typeof threshold === 'number' ? [threshold] : []
  return (
    <section class="card">
      <MomentChart deviceId={device_id} judged={{ metric, limits }} span={span} markers={markers} />
    </section>
  )
}

function AlertFacts({ alert }: { readonly alert: Alert }) {
  const { device_id, rule_id, rule_name } = alert
  return (
    <section class="card">
      <p>{alertText(alert)}</p>
      {alert.description !== null && <p class="muted">{plainText(alert.description)}</p>}
      <Facts
        rows={[
          [t('state'), stateWord(alert.state)],
          [
            t('device'),
            device_id === null ? undefined : <a href={pathOf('device', { device_id })}>{device_id}</a>,
          ],
          [t('rule'), <a href={pathOf('rule', { rule_id })}>{plainText(rule_name)}</a>],
          [alert.metric ?? t('value'), plainText(String(alert.value ?? '–'))],
          [t('threshold'), plainText(String(alert.threshold ?? '–'))],
          [t('began'), <Age at={alert.started_at} />],
          [t('fired'), <Age at={alert.fired_at} />],
          [
            t('resolved'),
            alert.resolved_at === null ? undefined : (
              <>
                <Age at={alert.resolved_at} /> {alert.reason}
              </>
            ),
          ],
          [t('snoozed'), alert.snoozed_until === null ? undefined : instant(Date.parse(alert.snoozed_until))],
          [t('times'), number(alert.count)],
          [t('acked'), alert.acknowledged_by === null ? '–' : personText(alert.acknowledged_by)],
          [t('owner'), alert.assignee === null ? '–' : personText(alert.assignee)],
          [t('muted'), alert.suppressed_by.length === 0 ? undefined : mutedText(alert.suppressed_by)],
        ]}
      />
      <a href={pathOf('alerts', {}, { rule: rule_id })}>{t('others')}</a>
    </section>
  )
}

function Comments({ alert: { alert_id, comments } }: { readonly alert: Alert }) {
  const [text, setText] = useState('')
  const write = useWrite(async () => {
    await fleet.commentAlert({ alert_id: alert_id ?? '', body: { text: text.trim() } })
    setText('')
    refreshAnswers('getAlert')
  })
  return (
    <section class="card">
      <h2>{t('comments')}</h2>
      {comments.length === 0 && <p class="muted">{t('noComments')}</p>}
      <ul class="stack">
        {comments.map(({ at, by, text: said }) => (
          <li key={`${at} ${said}`}>
            <span class="muted">
              {personText(by)} · <Age at={at} />
            </span>
            <p>{plainText(said)}</p>
          </li>
        ))}
      </ul>
      {may('commentAlert') && (
        <form
          class="form"
          onSubmit={submits(() => {
            if (text.trim() !== '') void write.run()
          })}
        >
          <Field label={t('comment')} value={text} onValue={setText} maxLength={2000} />
          <ProblemCard error={write.error.value} />
          <Button type="submit" write={write}>
            {t('add')}
          </Button>
        </form>
      )}
    </section>
  )
}

function Moves({ alert: { timeline } }: { readonly alert: Alert }) {
  return (
    <section class="card">
      <h2>{t('history')}</h2>
      <ol class="stack">
        {timeline.map((move, index) => (
          // A move has no id of its own, and the list only grows at its beginning.
          <li key={`${timeline.length - index}`} class="row">
            <Age at={String(move['at'])} />
            <span>{plainText(stateWord(String(move['event'] ?? '').replace('alert.', '')))}</span>
            <span class="muted">{actorOf(move)}</span>
          </li>
        ))}
      </ol>
    </section>
  )
}

/** An automatic move has no actor. */
function actorOf({ actor }: Alert['timeline'][number]): string {
  return typeof actor === 'object' && actor !== null && 'id' in actor ? personText(String(actor.id)) : ''
}
