import { STATUS_GLYPHS, statusWord } from '../../parts/status-mark.tsx'
import { number } from '../../words/words.ts'
import { type Colouring, METRIC_FILLS, type MetricColouring, STATUS_FILLS } from './map-colours.ts'
import { t } from './overview-words.ts'

export interface MapLegendProps {
  readonly colouring: Colouring
  readonly metric: MetricColouring | undefined
}

/** What the colours mean, in words. */
export function MapLegend({ colouring, metric }: MapLegendProps) {
  if (colouring === 'status')
    return (
      <ul class="map-legend" aria-hidden="true">
        {STATUS_FILLS.map((name) => (
          <li key={name}>
            <span class={`map-swatch map-fill-${name}`} /> {STATUS_GLYPHS[name]} {statusWord(name)}
          </li>
        ))}
      </ul>
    )
  if (colouring === 'metric') {
    if (metric === undefined) return <p class="hint">{t('noMetric')}</p>
    const { low, high } = metric.scale
    return (
      <p class="map-legend">
        <span>≤ {number(low)}</span>
        <span aria-hidden="true">
          {METRIC_FILLS.map((name) => (
            <span key={name} class={`map-swatch map-fill-${name}`} />
          ))}
        </span>
        <span>≥ {number(high)}</span>
        <span>
          <span class="map-swatch map-fill-none" aria-hidden="true" /> {t('noValue')}
        </span>
      </p>
    )
  }
  const said = LEGENDS[colouring]
  return (
    <ul class="map-legend">
      {said.map(([fill, word]) => (
        <li key={fill}>
          <span class={`map-swatch map-fill-${fill}`} aria-hidden="true" /> {t(word)}
        </li>
      ))}
    </ul>
  )
}

const LEGENDS = {
  alert: [
    ['error', 'hasCritical'],
    ['maintenance', 'hasWarning'],
    ['online', 'hasNone'],
  ],
  sync: [
    ['provisioning', 'outOfSync'],
    ['online', 'inSync'],
  ],
  seen: [
    ['online', 'seen1m'],
    ['provisioning', 'seen10m'],
    ['maintenance', 'seen1h'],
    ['offline', 'seenLater'],
  ],
} as const
