// The same buckets as a table: what a picture cannot say to everyone.
import { plainText } from '../parts/plain-text.ts'
import { exactInstant, instant } from '../words/time.ts'
import { number, words } from '../words/words.ts'
import type { Columns } from './columns.ts'

const t = words({
  low: ['{name} min', '{name} min'],
  high: ['{name} max', '{name} max'],
  shown: [
    'The newest {shown} of {n} rows are shown; a download has all of them.',
    'Die neuesten {shown} von {n} Zeilen werden gezeigt; ein Download hat alle.',
  ],
})

const ROWS_MAX = 500

export interface ChartTableProps {
  readonly caption: string
  readonly columns: Columns
  readonly unit?: string | undefined
}

export function ChartTable({ caption, columns: { times, lines }, unit }: ChartTableProps) {
  const all = times
    .map((_, index) => index)
    .filter((index) => lines.some(({ values }) => values[index] != null))
  const rows = all.slice(-ROWS_MAX).reverse()
  const heads = lines.flatMap(({ name, band }) => {
    const head = `${plainText(name)}${unit === undefined ? '' : ` (${plainText(unit)})`}`
    return band === undefined
      ? [head]
      : [head, t('low', { name: plainText(name) }), t('high', { name: plainText(name) })]
  })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable by keys.
    <section class="chart-table" tabIndex={0} aria-label={caption}>
      {all.length > rows.length && <p class="hint">{t('shown', { shown: rows.length, n: all.length })}</p>}
      <table class="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{t('time')}</th>
            {heads.map((head) => (
              <th key={head} scope="col" class="number">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((index) => (
            <tr key={index}>
              <td>
                <time dateTime={exactInstant(times[index] ?? 0)} title={exactInstant(times[index] ?? 0)}>
                  {instant(times[index] ?? 0)}
                </time>
              </td>
              {lines
                .flatMap(({ values, band }) =>
                  band === undefined ? [values] : [values, band.low, band.high],
                )
                .map((values, column) => (
                  <td key={heads[column]} class="number">
                    {typeof values[index] === 'number' ? number(values[index]) : '–'}
                  </td>
                ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
