// The rules, and three ready ones to begin with.

import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { errorText } from '../../../../../schemas/error-text.ts'
import { pathOf } from '../../address/routes.ts'
import { may, roleFor } from '../../data/access.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import { navigate } from '../../navigation/navigation.ts'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { AreaTabs } from '../../parts/area-tabs.tsx'
import { Button } from '../../parts/button.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Page } from '../../parts/page.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { SeverityMark } from '../../parts/severity-mark.tsx'
import { targetText } from '../../parts/target-text.ts'
import { toast } from '../../parts/toasts.tsx'
import { words } from '../../words/words.ts'
import { ReadyRules } from './first-rules.tsx'
import { ruleText } from './rule-words.ts'

const t = words({
  title: ['Alert rules', 'Alarmregeln'],
  condition: ['When', 'Wenn'],
  enabled: ['Enabled', 'Eingeschaltet'],
  on: ['on', 'an'],
  off: ['off', 'aus'],
  switchOff: ['Switch off {name}', '{name} ausschalten'],
  switchOn: ['Switch on {name}', '{name} einschalten'],
  firing: ['{n} firing', '{n} offen'],
  quiet: ['quiet', 'ruhig'],
  empty: ['No rules yet', 'Es gibt noch keine Regel'],
  emptyMore: [
    'Here are three to start with; change them before you save.',
    'Drei für den Anfang; jede lässt sich vor dem Speichern ändern.',
  ],
  ofType: ['from the device type', 'vom Gerätetyp'],
  needs: ['This needs the role {role}.', 'Dafür braucht es die Rolle {role}.'],
  failed: ['The rule could not be changed: {reason}', 'Die Regel konnte nicht geändert werden: {reason}'],
})

type Rule = ReplyOf<Operations['listAlertRules']>['data'][number]

export default function Rules() {
  const answer = useAnswer('listAlertRules', { query: { page: pageValue.value } })
  const canWrite = may('createAlertRule')
  const columns: readonly Column<Rule>[] = [
    {
      name: t('name'),
      cell: ({ rule_id, name }) => <a href={pathOf('rule', { rule_id })}>{plainText(name)}</a>,
    },
    { name: t('severity'), cell: ({ severity }) => <SeverityMark severity={severity} /> },
    { name: t('condition'), cell: (rule) => plainText(ruleText(rule)) },
    { name: t('where'), cell: ({ target }) => targetText(target) },
    {
      name: t('now'),
      cell: ({ state }) => (state.firing > 0 ? t('firing', { n: state.firing }) : t('quiet')),
    },
    { name: t('enabled'), cell: (rule) => <Switch rule={rule} isAllowed={canWrite} /> },
  ]
  return (
    <Page
      title={t('title')}
      actions={
        canWrite && (
          <Button kind="primary" icon="plus" onClick={() => navigate(pathOf('rule', { rule_id: 'new' }))}>
            {t('newRule')}
          </Button>
        )
      }
    >
      <AreaTabs of="alerting" />
      <AnswerTable
        answer={answer}
        empty={
          <Empty title={t('empty')}>
            {canWrite && (
              <>
                <p>{t('emptyMore')}</p>
                <ReadyRules />
              </>
            )}
          </Empty>
        }
        caption={t('title')}
        columns={columns}
        idOf={({ rule_id }) => rule_id}
      />
    </Page>
  )
}

function Switch({
  rule: { rule_id, name, enabled, source },
  isAllowed,
}: {
  readonly rule: Rule
  readonly isAllowed: boolean
}) {
  const write = useWrite(async () => {
    try {
      await fleet.editAlertRule({ rule_id, body: { enabled: !enabled } })
      refreshAnswers('listAlertRules')
    } catch (error) {
      toast({ text: t('failed', { reason: errorText(error) }), isFailure: true })
    }
  })
  if (source === 'device_type') return <span class="muted">{t('ofType')}</span>
  return (
    <Button
      write={write}
      disabledBecause={isAllowed ? undefined : t('needs', { role: roleFor('editAlertRule') ?? '' })}
      onClick={() => void write.run()}
    >
      {t(enabled ? 'on' : 'off')}
      <span class="visually-hidden">{t(enabled ? 'switchOff' : 'switchOn', { name })}</span>
    </Button>
  )
}
