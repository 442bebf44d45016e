// A look at one device beside the list: what it is, why it is so, its newest values, and what happened last.

import { pathOf } from '../address/routes.ts'
import { may } from '../data/access.ts'
import { useAnswer } from '../data/answers.ts'
import { columns, fleetVersion } from '../live/fleet-index.ts'
import { words } from '../words/words.ts'
import { Age } from './age.tsx'
import { AnswerArea } from './answer-area.tsx'
import { Button } from './button.tsx'
import { connectionReason } from './connection-text.ts'
import { entryText } from './entry-text.ts'
import { Facts } from './facts.tsx'
import { flatValues, shownValue } from './flat-values.ts'
import { MaintenanceButton, useMaintenance } from './maintenance.tsx'
import { plainText } from './plain-text.ts'
import { ProblemCard } from './problem-card.tsx'
import { StatusMark } from './status-mark.tsx'

const t = words({
  peek: ['Preview of {name}', 'Vorschau von {name}'],
  open: ['Open', 'Öffnen'],
  close: ['Close the preview', 'Vorschau schließen'],
  issues: ['Faults', 'Störungen'],
  seen: ['Last seen', 'Zuletzt gesehen'],
  noValues: ['The device has not reported any value yet.', 'Das Gerät hat noch keinen Wert gemeldet.'],
  noEvents: ['No events yet.', 'Noch ist nichts geschehen.'],
  more: ['{n} more on the device page', '{n} weitere auf seiner Seite'],
})

const VALUES_MAX = 8
const EVENTS_MAX = 5
const EVERY_MS = 10_000

export function Peek({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  // A change of the row may be one of the record.
  const row = fleetVersion.value === 0 ? undefined : columns.rowOf(id)
  const device = useAnswer('getDevice', { device_id: id }, { everyMs: EVERY_MS })
  const values = useAnswer('getTelemetry', { device_id: id }, { everyMs: EVERY_MS })
  const events = useAnswer(
    'listDeviceEvents',
    { device_id: id, query: { limit: EVENTS_MAX } },
    { everyMs: EVERY_MS },
  )
  const name = plainText(row === undefined ? id : (columns.names[row] ?? id))
  return (
    <aside class="peek card" aria-label={t('peek', { name })}>
      <header class="peek-head">
        <h2>{name}</h2>
        <Button kind="quiet" icon="x" label={t('close')} onClick={onClose} />
      </header>
      <code class="muted">{id}</code>
      <p class="row">
        {row !== undefined && <StatusMark status={columns.statusAt(row)} />}
        {row !== undefined && (
          <span class="muted">
            <Age at={columns.since[row] || undefined} />
          </span>
        )}
      </p>
      <div class="row">
        <a class="button button-primary" href={pathOf('device', { device_id: id })}>
          {t('open')}
        </a>
        {may('sendCommand') && (
          <a class="button" href={pathOf('deviceTab', { device_id: id, tab: 'commands' })}>
            {t('sendCommand')}
          </a>
        )}
        {may('editDevice') && device.data !== undefined && (
          <PreviewedMaintenance
            // The list knows of a change sooner.
            device={row === undefined ? device.data : { ...device.data, status: columns.statusAt(row) }}
          />
        )}
      </div>
      <AnswerArea answer={device}>
        {({
          status_reason: reason,
          issues,
          group,
          type,
          tags,
          connectivity,
          last_seen_at,
          firmware_version,
        }) => (
          <Facts
            rows={[
              [t('reason'), reason === null ? undefined : plainText(reason)],
              [
                t('issues'),
                issues.length === 0 ? undefined : (
                  <span class="severity-critical">{issues.map(plainText).join(', ')}</span>
                ),
              ],
              [
                t('connection'),
                [
                  connectivity.connected ? t('connected') : t('notConnected'),
                  connectionReason(connectivity.reason),
                ]
                  .filter(Boolean)
                  .join(', '),
              ],
              [t('seen'), <Age at={last_seen_at} />],
              [t('group'), group === null ? '–' : plainText(group)],
              [t('type'), plainText(type)],
              [t('tags'), tags.length === 0 ? undefined : tags.map(plainText).join(', ')],
              [t('firmware'), firmware_version === null ? '–' : plainText(firmware_version)],
            ]}
          />
        )}
      </AnswerArea>
      <section class="stack">
        <h3>{t('values')}</h3>
        <AnswerArea answer={values}>
          {({ data }) => {
            const all = flatValues(data)
            if (all.length === 0) return <p class="muted">{t('noValues')}</p>
            return (
              <>
                <Facts
                  rows={all
                    .slice(0, VALUES_MAX)
                    .map(([metric, value]) => [plainText(metric), shownValue(value)])}
                />
                {all.length > VALUES_MAX && <p class="hint">{t('more', { n: all.length - VALUES_MAX })}</p>}
              </>
            )
          }}
        </AnswerArea>
      </section>
      <section class="stack">
        <h3>{t('history')}</h3>
        <AnswerArea answer={events}>
          {({ data }) =>
            data.length === 0 ? (
              <p class="muted">{t('noEvents')}</p>
            ) : (
              <ul class="peek-events">
                {data.map((entry, i) => (
                  <li key={`${entry.timestamp} ${i}`}>
                    <span class="muted">
                      <Age at={entry.timestamp} />
                    </span>
                    <span>{entryText(entry)}</span>
                  </li>
                ))}
              </ul>
            )
          }
        </AnswerArea>
      </section>
    </aside>
  )
}

function PreviewedMaintenance({ device }: { readonly device: Parameters<typeof useMaintenance>[0] }) {
  const maintenance = useMaintenance(device)
  return (
    <>
      <MaintenanceButton of={maintenance} />
      <ProblemCard error={maintenance.error} />
    </>
  )
}
