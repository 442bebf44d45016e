// What is chosen for all charts of a page.
import type { ComponentChildren } from 'preact'
import { AGGREGATES, INTERVAL_SECONDS, INTERVALS, type Interval } from '../../../../../schemas/vocabulary.ts'
import { CheckField } from '../../parts/check-field.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { duration } from '../../words/time.ts'
import { words } from '../../words/words.ts'
import { aggregateValue, intervalValue, logValue, marksValue, tableValue } from './telemetry-values.ts'

const t = words({
  interval: ['Buckets', 'Zeitschritte'],
  auto: ['automatic', 'automatisch'],
  agg: ['Line', 'Linie'],
  log: ['Logarithmic', 'Logarithmisch'],
  table: ['Table', 'Tabelle'],
  marks: ['Events', 'Ereignisse'],
})

export interface ChartOptionsProps {
  /** What an automatic interval is now. */
  readonly interval: Interval
  /** What only this page lets choose. */
  readonly children?: ComponentChildren
  readonly tail?: ComponentChildren
}

export function ChartOptions({ interval, children, tail }: ChartOptionsProps) {
  return (
    <div class="chart-options">
      {children}
      <SelectField
        label={t('interval')}
        value={intervalValue.value}
        onValue={intervalValue.set}
        options={[
          ['auto', `${t('auto')} (${lengthOf(interval)})`],
          ...INTERVALS.map((word) => [word, lengthOf(word)] as const),
        ]}
      />
      <SelectField
        label={t('agg')}
        value={aggregateValue.value}
        onValue={aggregateValue.set}
        options={AGGREGATES.map((word) => [word, word] as const)}
      />
      <CheckField label={t('log')} isOn={logValue.value} onValue={logValue.set} />
      <CheckField label={t('table')} isOn={tableValue.value} onValue={tableValue.set} />
      <CheckField
        label={t('marks')}
        isOn={marksValue.value === 'on'}
        onValue={(isOn) => marksValue.set(isOn ? 'on' : 'off')}
      />
      {tail}
    </div>
  )
}

const lengthOf = (interval: Interval) => duration(INTERVAL_SECONDS[interval] * 1000)
