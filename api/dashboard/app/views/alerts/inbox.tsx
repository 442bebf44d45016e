// The inbox: what fires, worst first, and what a person does about it.

import { useEffect, useState } from 'preact/hooks'
import { oneOf, text, words as wordList } from '../../address/codecs.ts'
import { omitEmpty } from '../../address/omit-empty.ts'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { connection } from '../../live/live.ts'
import { useLiveAnswers } from '../../live/live-answers.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { AreaTabs } from '../../parts/area-tabs.tsx'
import { Button } from '../../parts/button.tsx'
import { ChoiceChips } from '../../parts/choice-chips.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Field } from '../../parts/field.tsx'
import { FilterChips, NoneFits } from '../../parts/filter-chips.tsx'
import { Page } from '../../parts/page.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { stateWord } from '../../parts/state-words.ts'
import { clockTime } from '../../words/time.ts'
import { words } from '../../words/words.ts'
import { type AlertAction, AlertActionDialog } from './action-dialog.tsx'
import { foldStorms, GROUPINGS } from './alert-groups.ts'
import { FirstRules } from './first-rules.tsx'
import { GroupRows } from './group-rows.tsx'
import { type Alert, inboxColumns, rowId, rowSelection } from './inbox-rows.tsx'
import { StateTabs } from './state-tabs.tsx'

const t = words({
  title: ['Alerts', 'Alarme'],
  ack: ['Acknowledge', 'Bestätigen'],
  assign: ['Assign to me', 'Übernehmen'],
  say: ['Comment', 'Kommentieren'],
  chosen: ['{n} selected | {n} selected', '{n} ausgewählt | {n} ausgewählt'],
  calm: ['No alerts firing', 'Nichts schlägt an'],
  missing: ['Alerts may be missing since {time}.', 'Seit {time} fehlen vielleicht Alarme.'],
  calmMore: [
    'Alerts appear here when a rule fires.',
    'Alarme erscheinen hier, wenn eine Regel an einem Gerät etwas findet.',
  ],
  rules: ['Open rules', 'Zu den Regeln'],
  by: ['Group by', 'Gruppiert nach'],
  'by-none': ['nothing', 'nichts'],
  'by-storm': ['storm', 'Sturm'],
  'by-rule': ['rule', 'Regel'],
  'by-group': ['group', 'Gruppe'],
  'by-device': ['device', 'Gerät'],
  none: ['No alerts match these filters', 'Kein Alarm passt zu diesen Filtern'],
  role: [
    'Acting on alerts needs the role operator.',
    'Als Viewer können Sie nicht handeln; dazu braucht es die Rolle Operator.',
  ],
})

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
  const filters = omitEmpty({
    severity: severity.join(','),
    group,
    rule_id: rule,
    device_id: device,
    group_key: storm,
  })
  const answer = useAnswer('listAlerts', {
    query: {
      ...queryOf(state),
      ...(by === 'none' ? { page: pageValue.value } : { per_page: GROUPED_MAX }),
      sort: state === 'resolved' ? 'fired_at:desc' : 'severity:desc',
      ...filters,
    },
  })
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [action, setAction] = useState<AlertAction | undefined>(undefined)
  const canAct = may('ackAlert')
  // Nobody acts on alerts that they do not see; other pages of the same list are looked through together.
  useEffect(() => setChosen(new Set()), [state, JSON.stringify(filters)])
  useLiveAnswers({ channel: 'alerts' }, ['listAlerts', 'getAlertSummary'])
  const act = (next: AlertAction) => {
    if (canAct && chosen.size > 0) setAction(next)
  }
  useShortcuts([
    { keys: 'e', label: t('ack'), run: () => act('ack') },
    { keys: 'h', label: t('snooze'), run: () => act('snooze') },
    { keys: 'r', label: t('resolve'), run: () => act('resolve') },
  ])
  const alerts = answer.data?.data ?? []
  // What is over is looked through one by one.
  const rows = storm === '' && state !== 'resolved' ? foldStorms(alerts) : alerts.map(alone)
  const selection =
    canAct && state !== 'resolved' && state !== 'pending' ? { ids: chosen, onChange: setChosen } : undefined
  const empty =
    Object.keys(filters).length > 0 ? (
      <NoneFits title={t('none')} names={['severity', 'group']} />
    ) : (
      <Empty title={t('calm')}>
        <p>{t('calmMore')}</p>
        <a href={pathOf('rules')}>{t('rules')}</a>
        <FirstRules />
      </Empty>
    )
  return (
    <Page title={t('title')}>
      <AreaTabs of="alerting" />
      <MissingSince />
      <StateTabs states={STATES} current={state} />
      <div class="filters">
        <ChoiceChips
          label={t('severity')}
          options={(['critical', 'warning', 'info'] as const).map((word) => [word, stateWord(word)] as const)}
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
      <FilterChips
        names={['rule', 'device', 'storm']}
        texts={{ rule: answer.data?.data.find(({ rule_id }) => rule_id === rule)?.rule_name ?? rule }}
      />
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
          answer={{ ...answer, data: answer.data && { ...answer.data, data: rows } }}
          empty={empty}
          caption={t('title')}
          columns={inboxColumns(state === 'firing' ? undefined : state)}
          idOf={rowId}
          selection={selection && rowSelection(rows, selection)}
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

const alone = (alert: Alert) => ({ alert, storm: undefined })
