// The cards beside the values: open alerts, commands of the type, and what hangs on a gateway.
import type { DeviceBody } from '../../../../../../schemas/device.ts'
import { pathOf } from '../../../address/routes.ts'
import { useAnswer } from '../../../data/answers.ts'
import { useLiveAnswers } from '../../../live/live-answers.ts'
import { Age } from '../../../parts/age.tsx'
import { alertText } from '../../../parts/alert-text.ts'
import { AnswerArea } from '../../../parts/answer-area.tsx'
import type { DeviceType } from '../../../parts/command-draft.ts'
import { plainText } from '../../../parts/plain-text.ts'
import { SeverityMark } from '../../../parts/severity-mark.tsx'
import { StatusMark } from '../../../parts/status-mark.tsx'
import { words } from '../../../words/words.ts'

const t = words({
  alerts: ['Open alerts', 'Offene Alarme'],
  noAlerts: ['None.', 'Keine.'],
  commands: ['Quick commands', 'Schnelle Befehle'],
  below: ['Devices of this gateway', 'Geräte dieses Gateways'],
  noneBelow: [
    'None yet. Register a device with this one as its gateway.',
    'Noch keine. Ein Gerät wird mit diesem als Gateway registriert.',
  ],
  all: ['All {n}', 'Alle {n}'],
})

const SHOWN_MAX = 8

export function OpenAlerts({ device }: { readonly device: DeviceBody }) {
  const { device_id: deviceId } = device
  const answer = useAnswer('listAlerts', { query: { device_id: deviceId, per_page: SHOWN_MAX } })
  useLiveAnswers({ channel: 'alerts', filter: { device_id: deviceId } }, ['listAlerts'])
  return (
    <section class="card">
      <h2>{t('alerts')}</h2>
      <AnswerArea answer={answer}>
        {({ data, total }) =>
          data.length === 0 ? (
            <p class="muted">{t('noAlerts')}</p>
          ) : (
            <ul class="plain-list">
              {data.map((alert) => (
                <li key={alert.alert_id}>
                  <SeverityMark severity={alert.severity} />
                  <a href={pathOf('alert', { alert_id: alert.alert_id ?? '' })}>{alertText(alert)}</a>
                  <span class="muted">
                    <Age at={alert.fired_at} />
                    {alert.acknowledged && ` · ${t('acknowledged')}`}
                  </span>
                </li>
              ))}
              {total > data.length && (
                <li>
                  <a href={pathOf('deviceTab', { device_id: deviceId, tab: 'alerts' })}>
                    {t('all', { n: total })}
                  </a>
                </li>
              )}
            </ul>
          )
        }
      </AnswerArea>
    </section>
  )
}

export interface QuickCommandsProps {
  readonly device: DeviceBody
  readonly type: Pick<DeviceType, 'commands'> | undefined
}

/** Each leads to its form: nothing is sent by one click. */
export function QuickCommands({ device, type }: QuickCommandsProps) {
  const commands = type?.commands ?? []
  if (commands.length === 0) return null
  return (
    <section class="card">
      <h2>{t('commands')}</h2>
      <div class="row">
        {commands.slice(0, SHOWN_MAX * 2).map(({ name, description }) => (
          <a
            key={name}
            class="button"
            title={description ?? undefined}
            href={pathOf('deviceTab', { device_id: device.device_id, tab: 'commands' }, { command: name })}
          >
            {plainText(name)}
          </a>
        ))}
      </div>
    </section>
  )
}

export function SubDevices({ deviceId }: { readonly deviceId: string }) {
  const answer = useAnswer('listDevices', {
    query: { parent_id: deviceId, per_page: 50, sort: 'name:ASC' },
  })
  useLiveAnswers({ channel: 'devices' }, ['listDevices'])
  return (
    <section class="card">
      <h2>{t('below')}</h2>
      <AnswerArea answer={answer}>
        {({ data, total }) =>
          data.length === 0 ? (
            <p class="muted">{t('noneBelow')}</p>
          ) : (
            <ul class="plain-list">
              {data.map((device) => (
                <li key={device.device_id}>
                  <StatusMark status={device.status} />
                  <a href={pathOf('device', { device_id: device.device_id })}>{plainText(device.name)}</a>
                  <span class="muted">
                    <Age at={device.last_seen_at} />
                  </span>
                </li>
              ))}
              {total > data.length && (
                <li>
                  <a href={pathOf('devices', {}, { q: `parent:${deviceId}` })}>{t('all', { n: total })}</a>
                </li>
              )}
            </ul>
          )
        }
      </AnswerArea>
    </section>
  )
}
