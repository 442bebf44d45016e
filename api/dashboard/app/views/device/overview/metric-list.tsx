// All other metrics as a compact list with a search.
import { useState } from 'preact/hooks'
import { pathOf } from '../../../address/routes.ts'
import { Age } from '../../../parts/age.tsx'
import { Field } from '../../../parts/field.tsx'
import { shownValue } from '../../../parts/flat-values.ts'
import { plainText } from '../../../parts/plain-text.ts'
import { words } from '../../../words/words.ts'
import type { LiveMetric } from './live-metrics.ts'

const t = words({
  find: ['Find a metric', 'Metrik suchen'],
  age: ['Age', 'Alter'],
  shown: ['{shown} of {n} shown; search to find others.', '{shown} von {n} gezeigt; suchen Sie die anderen.'],
})

const ROWS_MAX = 200
const SEARCH_FROM = 12

export interface MetricListProps {
  readonly title: string
  readonly deviceId: string
  readonly metrics: readonly LiveMetric[]
}

export function MetricList({ title, deviceId, metrics }: MetricListProps) {
  const [search, setSearch] = useState('')
  const found = metrics.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()))
  const rows = found.slice(0, ROWS_MAX)
  return (
    <section class="card">
      <div class="row card-head">
        <h2>{title}</h2>
        {metrics.length > SEARCH_FROM && (
          <Field label={t('find')} type="search" value={search} onValue={setSearch} />
        )}
      </div>
      <div class="metric-list">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">{t('metric')}</th>
              <th scope="col" class="number">
                {t('value')}
              </th>
              <th scope="col" class="number">
                {t('age')}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, value, unit, at }) => (
              <tr key={name}>
                <td>
                  {isCharted(value) ? (
                    <a
                      href={pathOf('deviceTab', { device_id: deviceId, tab: 'telemetry' }, { metric: name })}
                    >
                      {plainText(name)}
                    </a>
                  ) : (
                    plainText(name)
                  )}
                </td>
                <td class="number">
                  {shownValue(value)} {unit !== null && <span class="muted">{plainText(unit)}</span>}
                </td>
                <td class="number nowrap muted">
                  <Age at={at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {found.length > rows.length && (
        <p class="hint">{t('shown', { shown: rows.length, n: found.length })}</p>
      )}
    </section>
  )
}

const isCharted = (value: unknown) => typeof value === 'number' || typeof value === 'boolean'
