// The plan of devices (4.2): two metrics say where each stands. Which ones, and the part that is seen, are the address.
import type { Signal } from '@preact/signals'
import { useMemo, useState } from 'preact/hooks'
import { text } from '../../address/codecs.ts'
import { may } from '../../data/access.ts'
import { useAnswer } from '../../data/answers.ts'
import { user } from '../../data/session.ts'
import { areaOf } from '../../fleet/plan.ts'
import { useMetricColumns } from '../../live/metric-columns.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { TextValue } from '../../parts/text-value.tsx'
import '../overview/overview.css'
import { FloorPlanDialog } from './floor-plan-dialog.tsx'
import { PlanMap } from './plan-map.tsx'
import { t } from './plan-words.ts'

const X = 'position.x'
const Y = 'position.y'
const xValue = queryValue('x', text(X, 256))
const yValue = queryValue('y', text(Y, 256))
const NO_VALUES = { x: new Float64Array(), y: new Float64Array(), isGeographic: false }
/** Names of metrics that are degrees. */
const GEOGRAPHIC = /(^|[._])(lat|latitude)$/i

export interface DevicePlanProps {
  readonly rows: Uint32Array
  readonly selected: Signal<ReadonlySet<string>>
  readonly onPeek: (id: string) => void
}

export function DevicePlan({ rows, selected, onPeek }: DevicePlanProps) {
  const [x, y] = [xValue.value || X, yValue.value || Y]
  const names = useMemo(() => [...new Set([x, y])], [x, y])
  const loaded = useMetricColumns(names, 'all')
  const [xs, ys] = [loaded.columns[x], loaded.columns[y]]
  const values = useMemo(
    () => xs && ys && { x: xs, y: ys, isGeographic: GEOGRAPHIC.test(y) },
    [xs, ys, loaded.version],
  )
  const missing = rows.reduce(
    (count, row) => (Number.isFinite(xs?.[row]) && Number.isFinite(ys?.[row]) ? count : count + 1),
    0,
  )
  const plan = useAnswer('getFloorPlan', {})
  const kept = plan.data
  const picture = useMemo(
    () =>
      kept?.x_metric === x && kept.y_metric === y
        ? { ...kept, url: `data:${kept.media_type};base64,${kept.picture}` }
        : undefined,
    [kept, x, y],
  )
  const [isPlacing, setPlacing] = useState(false)
  const groups = user.value?.groups ?? []
  return (
    <section class="card" aria-labelledby="plan">
      <header class="row map-head">
        <h2 id="plan">{t('title')}</h2>
        {missing > 0 && missing < rows.length && <span class="muted">{t('missing', { n: missing })}</span>}
        <TextValue
          label={t('x')}
          value={x}
          placeholder={X}
          onValue={(name) => xValue.set(name.trim() || X)}
        />
        <TextValue
          label={t('y')}
          value={y}
          placeholder={Y}
          onValue={(name) => yValue.set(name.trim() || Y)}
        />
        {may('putFloorPlan') && (
          <Button
            icon="layers"
            disabledBecause={groups.length > 0 ? t('ofAll') : undefined}
            isBusy={plan.at === undefined && plan.error === undefined}
            onClick={() => setPlacing(true)}
          >
            {t('floorPlanPicture')}
          </Button>
        )}
      </header>
      {plan.error !== undefined && <ProblemCard error={plan.error} onRetry={plan.reload} />}
      {isPlacing && (
        <FloorPlanDialog
          {...{ x, y, kept }}
          area={areaOf(rows, values ?? NO_VALUES)}
          onClose={() => setPlacing(false)}
        />
      )}
      {loaded.error !== undefined && <ProblemCard error={loaded.error} onRetry={loaded.reload} />}
      {values === undefined || missing === rows.length ? (
        <Empty title={t('none')} hint={t('noneMore')} />
      ) : (
        <PlanMap rows={rows} values={values} picture={picture} selected={selected} onPeek={onPeek} />
      )}
    </section>
  )
}
