// The pulse of the service at the foot of the overview. What is not known is said to be so.
import { useAnswer } from '../../data/answers.ts'
import { fleetStats } from '../../live/fleet-index.ts'
import { number } from '../../words/words.ts'
import { t } from './overview-words.ts'
import { useReadiness } from './use-readiness.ts'

const EVERY_MS = 10_000

interface StripValue {
  readonly name: string
  readonly value: number | null
  readonly unit?: string
  /** The part of the service that it tells of, by its name in `/readyz?verbose`. */
  readonly of?: string
}

export function ServiceStrip() {
  const stats = fleetStats.value
  const system = useAnswer('getSystem', {}, { everyMs: EVERY_MS }).data
  const readiness = useReadiness()
  if (stats === undefined) return null
  // Red is only what the service itself calls broken.
  const isBroken = (part: string | undefined) =>
    readiness?.dependencies?.some(({ name, ok }) => name === part && !ok) === true
  const alerts = stats.alerts.info + stats.alerts.warning + stats.alerts.critical
  const shown: readonly StripValue[] = [
    { name: t('rate'), value: stats.messages_per_sec },
    { name: t('points'), value: stats.points_per_sec },
    { name: t('ingestLag'), value: stats.ingest_lag_ms, unit: ' ms', of: 'log' },
    ...(system === undefined
      ? []
      : [
          { name: t('sockets'), value: system.sockets.open },
          { name: t('rowsWaiting'), value: system.telemetry.rows_waiting, of: 'telemetry' },
        ]),
    { name: t('open'), value: stats.commands?.open ?? null },
    { name: t('alerts'), value: alerts },
    { name: t('rollouts'), value: stats.deployments_active },
  ]
  return (
    <dl class="strip" aria-label={t('strip')}>
      {shown.map(({ name, value, unit = '', of }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class={isBroken(of) ? 'status-error' : undefined}>
            {isBroken(of) && '✕ '}
            {value === null ? t('unknown') : `${number(value, { maximumFractionDigits: 0 })}${unit}`}
          </dd>
        </div>
      ))}
    </dl>
  )
}
