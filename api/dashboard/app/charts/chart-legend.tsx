// The lines of a chart by name and colour, with their values at the cursor.
import { plainText } from '../parts/plain-text.ts'
import { instant } from '../words/time.ts'
import { number } from '../words/words.ts'
import type { Columns } from './columns.ts'

export interface ChartLegendProps {
  readonly columns: Columns
  readonly index: number | undefined
  readonly unit?: string | undefined
}

export function ChartLegend({ columns: { times, lines }, index, unit }: ChartLegendProps) {
  const time = index === undefined ? undefined : times[index]
  return (
    <ul class="chart-legend">
      {lines.map(({ name, values, band }, line) => {
        const value =
          index === undefined ? values.findLast((known) => typeof known === 'number') : values[index]
        const low = index === undefined ? undefined : band?.low[index]
        const high = index === undefined ? undefined : band?.high[index]
        return (
          <li key={name}>
            <span class={`chart-swatch series-${(line % 6) + 1}`} aria-hidden="true" />
            {plainText(name)}{' '}
            {typeof value === 'number' && (
              <strong>
                {number(value)} {unit !== undefined && plainText(unit)}
              </strong>
            )}
            {typeof low === 'number' && typeof high === 'number' && (
              <span class="muted">
                {' '}
                {number(low)} – {number(high)}
              </span>
            )}
          </li>
        )
      })}
      {time !== undefined && <li class="muted nowrap">{instant(time)}</li>}
    </ul>
  )
}
