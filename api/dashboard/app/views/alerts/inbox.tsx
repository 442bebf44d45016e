// The inbox: what fires, worst first, and what a person does about it.
import { useState } from 'preact/hooks'
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { oneOf, text, words as wordList } from '../../address/codecs.ts'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { connection } from '../../live/live.ts'
import { useLiveAnswers } from '../../live/live-answers.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { Age } from '../../parts/age.tsx'
import { alertText } from '../../parts/alert-text.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { Button } from '../../parts/button.tsx'
import { ChoiceChips } from '../../parts/choice-chips.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Field } from '../../parts/field.tsx'
import { Page } from '../../parts/page.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { personText } from '../../parts/person-text.ts'
import { plainText } from '../../parts/plain-text.ts'
import { SelectField } from '../../parts/select-field.tsx'
import { SeverityMark, severityWord } from '../../parts/severity-mark.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { clockTime } from '../../words/time.ts'
import { words } from '../../words/words.ts'
import { type AlertAction, AlertActionDialog } from './action-dialog.tsx'
import { GROUPINGS } from './alert-groups.ts'
import { FirstRules } from './first-rules.tsx'
import { GroupRows } from './group-rows.tsx'
import { AlertSections } from './sections.tsx'
import { StateTabs } from './state-tabs.tsx'

const t = words({
  title: ['Alerts', 'Alarme'],
  severity: ['Severity', 'Schwere'],
  alert: ['Alert', 'Alarm'],
  device: ['Device', 'Gerät'],
  group: ['Group', 'Gruppe'],
  since: ['Fired', 'Ausgelöst'],
  rule: ['Rule', 'Regel'],
  owner: ['In hand', 'In Arbeit'],
  count: ['Times', 'Mal'],
  nobody: ['nobody', 'niemand'],
  ack: ['Acknowledge', 'Bestätigen'],
  snooze: ['Snooze', 'Zurückstellen'],
  resolve: ['Resolve', 'Schließen'],
  assign: ['Take over', 'Übernehmen'],
  say: ['Comment', 'Kommentieren'],
  chosen: [
    { one: '{n} selected', other: '{n} selected' },
    { one: '{n} ausgewählt', other: '{n} ausgewählt' },
  ],
  calm: ['Nothing fires', 'Nichts schlägt an'],
  missing: ['Alerts may be missing since {time}.', 'Seit {time} fehlen vielleicht Alarme.'],
  calmMore: [
    'Alerts appear here when a rule finds something wrong with a device.',
    'Alarme erscheinen hier, wenn eine Regel an einem Gerät etwas findet.',
  ],
  rules: ['See the rules', 'Zu den Regeln'],
  by: ['Grouped by', 'Gruppiert nach'],
  'by-none': ['nothing', 'nichts'],
  'by-storm': ['storm', 'Sturm'],
  'by-rule': ['rule', 'Regel'],
  'by-group': ['group', 'Gruppe'],
  'by-device': ['device', 'Gerät'],
  none: ['No alert fits these filters', 'Kein Alarm passt zu diesen Filtern'],
  role: [
    'Viewers cannot act on alerts; this needs the role operator.',
    'Als Viewer können Sie nicht handeln; dazu braucht es die Rolle Operator.',
  ],
  muted: ['not notified: {by}', 'nicht gemeldet: {by}'],
})

type Alert = ReplyOf<Operations['listAlerts']>['data'][number]

const STATES = ['firing', 'acknowledged', 'snoozed', 'pending', 'resolved'] as const
export type InboxState = (typeof STATES)[number]
const stateValue = queryValue('state', oneOf(STATES, 'firing'))
const severityValue = queryValue('severity', wordList())
const groupValue = queryValue('group', text())
const ruleValue = queryValue('rule', text())
const deviceValue = queryValue('device', text('', 64))
const stormValue = queryValue('storm', text('', 512))
const byValue = queryValue('by', oneOf(GROUPINGS, 'none'))
/** More are not grouped at once, and the number is said. */
const GROUPED_MAX = 200

/** What fires and is in nobody's hands comes first; the rest has tabs of its own. */
const SHOWN: Readonly<Record<InboxState, { acknowledged?: boolean; snoozed?: boolean }>> = {
  firing: { acknowledged: false, snoozed: false },
  acknowledged: { acknowledged: true, snoozed: false },
  snoozed: { snoozed: true },
  pending: {},
  resolved: {},
}

function queryOf(state: InboxState) {
  const wire = state === 'resolved' || state === 'pending' ? state : 'firing,recovering'
  return { state: wire, ...SHOWN[state] }
}

export default function Inbox() {
  const state = stateValue.value
  const severity = severityValue.value
  const group = groupValue.value
  const rule = ruleValue.value
  const device = deviceValue.value
  const storm = stormValue.value
  const by = byValue.value
  const answer = useAnswer('listAlerts', {
    query: {
      ...queryOf(state),
      ...(by === 'none' ? { page: pageValue.value } : { per_page: GROUPED_MAX }),
      sort: state === 'resolved' ? 'fired_at:desc' : 'severity:desc',
      ...(severity.length === 0 ? {} : { severity: severity.join(',') }),
      ...(group === '' ? {} : { group }),
      ...(rule === '' ? {} : { rule_id: rule }),
      ...(device === '' ? {} : { device_id: device }),
      ...(storm === '' ? {} : { group_key: storm }),
    },
  })
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [action, setAction] = useState<AlertAction | undefined>(undefined)
  const canAct = may('ackAlert')
  useLiveAnswers({ channel: 'alerts' }, ['listAlerts', 'getAlertSummary'])
  const act = (next: AlertAction) => {
    if (canAct && chosen.size > 0) setAction(next)
  }
  useShortcuts([
    { keys: 'e', says: t('ack'), run: () => act('ack') },
    { keys: 'h', says: t('snooze'), run: () => act('snooze') },
    { keys: 'r', says: t('resolve'), run: () => act('resolve') },
  ])
  const isFiltered = severity.length > 0 || group !== '' || rule !== '' || device !== '' || storm !== ''
  const columns: readonly Column<Alert>[] = [
    { name: t('severity'), cell: ({ severity: word }) => <SeverityMark severity={word} /> },
    { name: t('alert'), cell: (alert) => <AlertName alert={alert} /> },
    {
      name: t('device'),
      cell: ({ device_id }) =>
        device_id !== null && <a href={pathOf('device', { device_id })}>{device_id}</a>,
    },
    { name: t('group'), cell: ({ group: name }) => name ?? '–' },
    { name: t('since'), cell: ({ fired_at, started_at }) => <Age at={fired_at ?? started_at} /> },
    { name: t('count'), isNumber: true, cell: ({ count }) => count },
    {
      name: t('owner'),
      cell: ({ assignee, acknowledged_by }) => {
        const owner = assignee ?? acknowledged_by
        return owner === null ? <span class="muted">{t('nobody')}</span> : personText(owner)
      },
    },
  ]
  const selection =
    canAct && state !== 'resolved' && state !== 'pending' ? { ids: chosen, onChange: setChosen } : undefined
  const empty = isFiltered ? (
    <Empty title={t('none')} />
  ) : (
    <Empty title={t('calm')}>
      <p>{t('calmMore')}</p>
      <a href={pathOf('rules')}>{t('rules')}</a>
      <FirstRules />
    </Empty>
  )
  return (
    <Page title={t('title')}>
      <AlertSections />
      <MissingSince />
      <StateTabs states={STATES} current={state} />
      <div class="filters">
        <ChoiceChips
          label={t('severity')}
          options={(['critical', 'warning', 'info'] as const).map(
            (word) => [word, severityWord(word)] as const,
          )}
          value={severityValue}
        />
        <Field label={t('group')} value={group} onValue={groupValue.set} spellcheck={false} />
        <SelectField
          label={t('by')}
          options={GROUPINGS.map((word) => [word, t(`by-${word}`)] as const)}
          value={by}
          onValue={(word) => {
            byValue.set(word)
            setChosen(new Set())
          }}
        />
      </div>
      {canAct ? (
        chosen.size > 0 && (
          <div class="row selection-bar" role="status">
            <span>{t('chosen', { n: chosen.size })}</span>
            <Button icon="check" shortcut="e" onClick={() => act('ack')}>
              {t('ack')}
            </Button>
            <Button icon="bell-off" shortcut="h" onClick={() => act('snooze')}>
              {t('snooze')}
            </Button>
            <Button onClick={() => act('assign')}>{t('assign')}</Button>
            <Button onClick={() => act('say')}>{t('say')}</Button>
            <Button icon="x" shortcut="r" onClick={() => act('resolve')}>
              {t('resolve')}
            </Button>
          </div>
        )
      ) : (
        <p class="muted">{t('role')}</p>
      )}
      {by === 'none' ? (
        <AnswerTable
          answer={answer}
          empty={empty}
          caption={t('title')}
          columns={columns}
          idOf={idOf}
          selection={selection}
        />
      ) : (
        <AnswerArea answer={answer}>
          {({ data, total = data.length }) =>
            data.length === 0 ? (
              empty
            ) : (
              <GroupRows
                by={by}
                alerts={data}
                total={total}
                state={state === 'firing' ? undefined : state}
                selection={selection}
              />
            )
          }
        </AnswerArea>
      )}
      {action !== undefined && (
        <AlertActionDialog
          action={action}
          alertIds={[...chosen]}
          onClose={(isDone) => {
            setAction(undefined)
            if (!isDone) return
            setChosen(new Set())
            refreshAnswers('listAlerts', 'getAlertSummary')
          }}
        />
      )}
    </Page>
  )
}

/** An inbox that nobody fills looks like a calm one. */
function MissingSince() {
  const at = connection.value
  if (at.state !== 'away') return null
  return <p class="banner severity-warning">▲ {t('missing', { time: clockTime(at.since) })}</p>
}

const idOf = ({ alert_id, rule_id, device_id }: Alert) => alert_id ?? `${rule_id} ${device_id}`

function AlertName({ alert }: { readonly alert: Alert }) {
  const { alert_id, rule_name, suppressed_by } = alert
  return (
    <>
      {alert_id === null ? rule_name : <a href={pathOf('alert', { alert_id })}>{plainText(rule_name)}</a>}
      <span class="table-more">{alertText(alert)}</span>
      {suppressed_by.length > 0 && (
        <span class="table-more">{t('muted', { by: suppressed_by.join(', ') })}</span>
      )}
    </>
  )
}
