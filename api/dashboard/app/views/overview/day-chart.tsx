// How many devices were online over the day, with what fired and what was rolled out meanwhile. A picture and not a chart to
// work with: each mark leads to what happened then.
import { pathOf } from '../../address/routes.ts'
import { useAnswer } from '../../data/answers.ts'
import { instant } from '../../words/time.ts'
import { number } from '../../words/words.ts'
import { alertsOfDay, marksOf, SLOTS } from './day-marks.ts'
import { t } from './overview-words.ts'
import { BARS, barsOf } from './trend.ts'
import { useFleetTrend } from './use-fleet-trend.ts'

const EVERY_MS = 60_000
const DAY_MS = 86_400_000
const HEIGHT = 48

export function DayChart({ group }: { readonly group: string | undefined }) {
  const { trend, nowMs } = useFleetTrend(group)
  const alerts = useAnswer('listAlerts', alertsOfDay(group), { everyMs: EVERY_MS })
  const rollouts = useAnswer('listDeployments', { query: { per_page: 50 } }, { everyMs: EVERY_MS })
  const online = trend && barsOf(trend, 'online', nowMs)
  const known = online?.filter((value) => value !== undefined) ?? []
  // The first counts come a minute after the first start.
  if (online === undefined || known.length === 0) return null
  const most = Math.max(1, ...known)
  const said = t('daySaid', { now: known.at(-1) ?? 0, least: Math.min(...known), most })
  const fired = alerts.data ?? { data: [], total: 0 }
  const marks = marksOf({
    alerts: fired.data,
    rollouts: rollouts.data?.data ?? [],
    fromMs: nowMs - DAY_MS,
  })
  return (
    <section class="card day" aria-labelledby="day">
      <h2 id="day">{t('onlineDay')}</h2>
      <p class="muted">{said}</p>
      <svg
        class="day-line"
        viewBox={`0 0 ${BARS} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={said}
      >
        <path d={areaOf(online, most)} />
      </svg>
      <p class="day-axis muted" aria-hidden="true">
        <span>{instant(nowMs - DAY_MS, { timeStyle: 'short', dateStyle: 'medium' })}</span>
        <span>{t('now')}</span>
      </p>
      {marks.size > 0 && (
        <ul class="day-marks" aria-label={t('dayMarks')}>
          {Array.from({ length: SLOTS }, (_, slot) => {
            const mark = marks.get(slot)
            const fromMs = nowMs - DAY_MS + (slot * DAY_MS) / SLOTS
            if (mark === undefined) return <li key={slot} />
            const [from, to] = [fromMs, fromMs + DAY_MS / SLOTS].map((ms) => new Date(ms).toISOString())
            const name = t('dayMark', { ...mark, time: instant(fromMs, { timeStyle: 'short' }) })
            return (
              <li key={slot}>
                <a
                  href={pathOf('timeline', {}, { kind: 'alert,ota', group, from, to })}
                  title={name}
                  aria-label={name}
                >
                  {mark.alerts > 0 && <span class="severity-critical">▲{number(mark.alerts)}</span>}
                  {mark.rollouts > 0 && <span>⟳{number(mark.rollouts)}</span>}
                </a>
              </li>
            )
          })}
        </ul>
      )}
      {fired.total > fired.data.length && (
        <p class="hint">{t('dayCut', { n: fired.data.length, total: fired.total })}</p>
      )}
    </section>
  )
}

/** What nobody counted is a gap. */
function areaOf(values: readonly (number | undefined)[], most: number): string {
  return values
    .map((value, i) =>
      value === undefined ? '' : `M${i} ${HEIGHT}v${-(value / most) * HEIGHT}h1v${(value / most) * HEIGHT}z`,
    )
    .join('')
}
