// The pulse of the service at the foot of the overview. What is not known is said to be so.
import { may } from '../../data/access.ts'
import { useAnswer } from '../../data/answers.ts'
import { fleetStats } from '../../live/fleet-index.ts'
import { number } from '../../words/words.ts'
import { t } from './overview-words.ts'

const EVERY_MS = 10_000

export function ServiceStrip() {
  const stats = fleetStats.value
  const system = useAnswer('getSystem', {}, { everyMs: EVERY_MS, isWanted: may('getSystem') }).data
  if (stats === undefined) return null
  const alerts = stats.alerts.info + stats.alerts.warning + stats.alerts.critical
  const shown: readonly (readonly [string, number | null, string?])[] = [
    [t('rate'), stats.messages_per_sec],
    [t('points'), stats.points_per_sec],
    [t('ingestLag'), stats.ingest_lag_ms, ' ms'],
    ...(system === undefined
      ? []
      : ([
          [t('sockets'), system.sockets.open],
          [t('rowsWaiting'), system.telemetry.rows_waiting],
        ] as const)),
    [t('open'), stats.commands?.open ?? null],
    [t('alerts'), alerts],
    [t('rollouts'), stats.deployments_active],
  ]
  return (
    <dl class="strip" aria-label={t('strip')}>
      {shown.map(([name, value, unit = '']) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === null ? t('unknown') : `${number(value, { maximumFractionDigits: 0 })}${unit}`}</dd>
        </div>
      ))}
    </dl>
  )
}
