// One value that the device type names: how it is now, where it is in its range, and how it was in the last hour.
import { Spark } from '../../../charts/spark.tsx'
import { Age } from '../../../parts/age.tsx'
import { shownValue } from '../../../parts/flat-values.ts'
import { plainText } from '../../../parts/plain-text.ts'
import { number, words } from '../../../words/words.ts'
import type { LiveMetric } from './live-metrics.ts'

const t = words({
  warning: ['low', 'niedrig'],
  range: ['{low} to {high}', '{low} bis {high}'],
  warnBelow: ['warning below {value}', 'Warnung unter {value}'],
  criticalBelow: ['critical below {value}', 'kritisch unter {value}'],
  alertAbove: ['alert above {value}', 'Alarm über {value}'],
  alertBelow: ['alert below {value}', 'Alarm unter {value}'],
  chart: ['{name}, show its chart', '{name}, Diagramm zeigen'],
})

export interface WidgetField {
  readonly name: string
  readonly unit?: string | undefined
  readonly range?: readonly number[] | undefined
  readonly warnBelow?: number | undefined
  readonly criticalBelow?: number | undefined
  readonly alertAbove?: number | undefined
  readonly alertBelow?: number | undefined
}

const MARKS = ['warnBelow', 'criticalBelow', 'alertAbove', 'alertBelow'] as const

export interface WidgetProps {
  readonly field: WidgetField
  readonly metric: LiveMetric
  readonly spark: readonly (number | null | undefined)[] | undefined
  readonly href: string
}

export function Widget({ field, metric, spark, href }: WidgetProps) {
  const { value } = metric
  const severity = severityOf(field, value)
  const [low, high] = field.range ?? []
  const name = plainText(field.name)
  const marks = MARKS.flatMap((mark) => {
    const limit = field[mark]
    return limit === undefined ? [] : [t(mark, { value: limit })]
  })
  return (
    <a class="widget" href={href} title={t('chart', { name })}>
      <span class="widget-name">{name}</span>
      <span class={`widget-value ${severity === undefined ? '' : `severity-${severity}`}`}>
        {severity !== undefined && <span aria-hidden="true">{severity === 'critical' ? '✕ ' : '▲ '}</span>}
        {shownValue(value)} {field.unit !== undefined && <small>{plainText(field.unit)}</small>}
        {severity !== undefined && <small> {t(severity)}</small>}
      </span>
      {typeof value === 'number' && low !== undefined && high !== undefined && (
        <>
          <meter
            aria-label={name}
            min={low}
            max={high}
            low={field.warnBelow ?? field.alertBelow ?? low}
            high={field.alertAbove ?? high}
            optimum={(low + high) / 2}
            value={value}
          />
          <span class="widget-foot">
            <span>{t('range', { low: number(low), high: number(high) })}</span>
          </span>
        </>
      )}
      {marks.length > 0 && <span class="widget-foot">{marks.join(' · ')}</span>}
      <span class="widget-foot">
        <Age at={metric.at} />
        {spark !== undefined && spark.length > 1 && <Spark values={spark} width={96} height={24} />}
      </span>
    </a>
  )
}

function severityOf(field: WidgetField, value: unknown): 'warning' | 'critical' | undefined {
  if (typeof value !== 'number') return undefined
  if (field.criticalBelow !== undefined && value < field.criticalBelow) return 'critical'
  const isOut =
    (field.alertAbove !== undefined && value > field.alertAbove) ||
    (field.alertBelow !== undefined && value < field.alertBelow)
  return isOut || (field.warnBelow !== undefined && value < field.warnBelow) ? 'warning' : undefined
}
