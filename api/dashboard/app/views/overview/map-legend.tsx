import { plainText } from '../../parts/plain-text.ts'
import { stateWord } from '../../parts/state-words.ts'
import { STATUS_GLYPHS } from '../../parts/status-mark.tsx'
import { number } from '../../words/words.ts'
import { type Colouring, METRIC_FILLS, type MetricColouring, STATUS_FILLS } from './map-colours.ts'
import { t } from './overview-words.ts'
import type { VersionFill } from './version-fills.ts'

export interface MapLegendProps {
  readonly colouring: Colouring
  readonly metric: MetricColouring | undefined
  readonly versions: readonly VersionFill[]
}

export function MapLegend({ colouring, metric, versions }: MapLegendProps) {
  if (colouring === 'status')
    return (
      <ul class="map-legend" aria-hidden="true">
        {STATUS_FILLS.map((name) => (
          <li key={name}>
            <span class={`map-swatch map-fill-${name}`} /> {STATUS_GLYPHS[name]} {stateWord(name)}
          </li>
        ))}
      </ul>
    )
  if (colouring === 'fw')
    return (
      <ul class="map-legend">
        {versions.map(({ version, count, fill }) => (
          <li key={version}>
            <span class={`map-swatch map-fill-${fill}`} aria-hidden="true" /> {plainText(version)} (
            {number(count)})
          </li>
        ))}
        <li>
          <span class="map-swatch map-fill-none" aria-hidden="true" /> {t('otherVersion')}
        </li>
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
