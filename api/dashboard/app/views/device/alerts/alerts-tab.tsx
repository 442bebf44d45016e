// The alerts of this device: open ones and the latest that ended, and a way to mute it for a time.
import type { Operations, ReplyOf } from '../../../../../../schemas/client/calls.ts'
import { ALERT_STATES } from '../../../../../../schemas/vocabulary.ts'
import { pathOf } from '../../../address/routes.ts'
import { may } from '../../../data/access.ts'
import { refreshAnswers, useAnswer } from '../../../data/answers.ts'
import { fleet } from '../../../data/client.ts'
import { useWrite } from '../../../data/writes.ts'
import { useLiveAnswers } from '../../../live/live-answers.ts'
import { Age } from '../../../parts/age.tsx'
import { alertText } from '../../../parts/alert-text.ts'
import { AnswerTable } from '../../../parts/answer-table.tsx'
import { Button } from '../../../parts/button.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { pageValue } from '../../../parts/pager.tsx'
import { plainText } from '../../../parts/plain-text.ts'
import { ProblemCard } from '../../../parts/problem-card.tsx'
import { SeverityMark } from '../../../parts/severity-mark.tsx'
import { toast } from '../../../parts/toasts.tsx'
import { instant, now } from '../../../words/time.ts'
import { words } from '../../../words/words.ts'
import type { TabProps } from '../tabs.ts'
import { muteOf } from './mute.ts'

type Alert = ReplyOf<Operations['listAlerts']>['data'][number]

const t = words({
  caption: ['Alerts of the device', 'Alarme des Geräts'],
  state: ['State', 'Stand'],
  fired: ['Fired', 'Ausgelöst'],
  ended: ['Ended', 'Beendet'],
  do: ['Action', 'Aktion'],
  ack: ['Acknowledge', 'Bestätigen'],
  none: ['No alerts for this device', 'Dieses Gerät hat keine Alarme'],
  rules: ['Rules define when alerts fire.', 'Eine Regel sagt, wann einer ausgelöst wird.'],
  toRules: ['See the rules', 'Zu den Regeln'],
  mute: ['Mute the device:', 'Gerät stumm schalten:'],
  h1: ['1 hour', '1 Stunde'],
  h8: ['8 hours', '8 Stunden'],
  d1: ['1 day', '1 Tag'],
  muted: [
    'Notifications of this device are muted until {time}.',
    'Benachrichtigungen dieses Geräts sind stumm bis {time}.',
  ],
  unmute: ['Unmute', 'Aufheben'],
  comment: ['Muted on the device page', 'Auf der Seite des Geräts stumm geschaltet'],
  firing: ['firing', 'aktiv'],
  resolved: ['resolved', 'beendet'],
})

const MUTES = [
  ['h1', 3_600_000],
  ['h8', 8 * 3_600_000],
  ['d1', 24 * 3_600_000],
] as const

export default function AlertsTab({ device }: TabProps) {
  const { device_id: deviceId } = device
  const answer = useAnswer('listAlerts', {
    query: { device_id: deviceId, state: ALERT_STATES.join(','), page: pageValue.value, per_page: 50 },
  })
  useLiveAnswers({ channel: 'alerts', filter: { device_id: deviceId } }, ['listAlerts'])
  const ack = useWrite(async (alertId: string) => {
    await fleet.ackAlert({ alert_id: alertId })
    refreshAnswers('listAlerts')
  })
  const mayAct = may('ackAlert') && device.status !== 'decommissioned'
  return (
    <div class="stack">
      {may('createSilence') && device.status !== 'decommissioned' && <Mute deviceId={deviceId} />}
      <ProblemCard error={ack.error.value} />
      <AnswerTable
        answer={answer}
        empty={
          <Empty title={t('none')}>
            <p>
              {t('rules')} <a href={pathOf('rules')}>{t('toRules')}</a>
            </p>
          </Empty>
        }
        caption={t('caption')}
        idOf={({ alert_id: id, rule_id: rule, started_at: at }) => id ?? `${rule} ${at}`}
        columns={[
          { name: t('severity'), cell: ({ severity }) => <SeverityMark severity={severity} /> },
          {
            name: t('alert'),
            cell: (alert) =>
              alert.alert_id === null ? (
                alertText(alert)
              ) : (
                <a href={pathOf('alert', { alert_id: alert.alert_id })}>{alertText(alert)}</a>
              ),
          },
          { name: t('rule'), cell: ({ rule_name: name }) => plainText(name) },
          {
            name: t('state'),
            cell: ({ state, acknowledged }) => `${t(state)}${acknowledged ? `, ${t('acknowledged')}` : ''}`,
          },
          { name: t('fired'), cell: ({ fired_at: at }) => <Age at={at} /> },
          { name: t('ended'), cell: ({ resolved_at: at }) => <Age at={at} /> },
          ...(mayAct
            ? [
                {
                  name: t('do'),
                  cell: ({ alert_id: id, acknowledged, state }: Alert) =>
                    id === null || acknowledged || state !== 'firing' ? null : (
                      <Button write={ack} onClick={() => void ack.run(id)}>
                        {t('ack')}
                      </Button>
                    ),
                },
              ]
            : []),
        ]}
      />
    </div>
  )
}

function Mute({ deviceId }: { readonly deviceId: string }) {
  const answer = useAnswer('listSilences', {
    query: { state: 'active', device_id: deviceId, per_page: 200 },
  })
  const active = muteOf(answer.data?.data ?? [])
  const write = useWrite(async (ms: number | undefined) => {
    if (ms === undefined && active !== undefined) await fleet.deleteSilence({ silence_id: active.silence_id })
    if (ms !== undefined) {
      const until = now.peek() + ms
      await fleet.createSilence({
        body: {
          matchers: { device_id: deviceId },
          ends_at: new Date(until).toISOString(),
          comment: t('comment'),
        },
      })
      toast({ text: t('muted', { time: instant(until) }) })
    }
    refreshAnswers('listSilences')
  })
  return (
    <>
      <div class="row">
        {active === undefined ? (
          <>
            <span>{t('mute')}</span>
            {MUTES.map(([name, ms]) => (
              <Button key={name} icon="bell-off" write={write} onClick={() => void write.run(ms)}>
                {t(name)}
              </Button>
            ))}
          </>
        ) : (
          <>
            <span>{t('muted', { time: instant(Date.parse(active.ends_at)) })}</span>
            <Button write={write} onClick={() => void write.run(undefined)}>
              {t('unmute')}
            </Button>
          </>
        )}
      </div>
      <ProblemCard error={write.error.value} />
    </>
  )
}
