// The map of some devices with its head: how deep its groups are, by what it is coloured, and the way to its table. What it
// shows is the address, so that the overview and the list of devices show the same map.
import type { Signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { oneOf, text, whole } from '../../address/codecs.ts'
import { blocksOf } from '../../fleet/map-layout.ts'
import { columns, ranks } from '../../live/fleet-index.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { Button } from '../../parts/button.tsx'
import { isNarrow } from '../../parts/narrow.ts'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { TextValue } from '../../parts/text-value.tsx'
import { GroupTable } from './group-table.tsx'
import { HeatMap } from './heat-map.tsx'
import { COLOURINGS } from './map-colours.ts'
import './overview.css'
import { t } from './overview-words.ts'
import { useMapMetric } from './use-map-metric.ts'
import { versionColouring } from './version-fills.ts'

const depthValue = queryValue('depth', whole(2, 1, 8))
const colourValue = queryValue('colour', oneOf(COLOURINGS, 'status'))
const metricValue = queryValue('metric', text('', 256))

export interface FleetMapProps {
  readonly rows: Uint32Array
  readonly selected: Signal<ReadonlySet<string>>
  /** Whether the groups stand in a table, which a phone always shows. */
  readonly isTable: boolean
  readonly onFlip: () => void
  /** What `onFlip` leads to. */
  readonly flipText: string
  readonly onPeek: (id: string) => void
  readonly children?: ComponentChildren
}

export function FleetMap({ rows, selected, isTable, onFlip, flipText, onPeek, children }: FleetMapProps) {
  const depth = depthValue.value
  const blocks = useMemo(() => blocksOf({ columns, ranks, rows, depth }), [rows, depth])
  const counted = () => blocks.map((block) => ({ ...block, total: block.rows.length }))
  const metric = useMapMetric(!isTable && colourValue.value === 'metric' ? metricValue.value : '')
  const isByVersion = !isTable && colourValue.value === 'fw'
  const versions = useMemo(
    () => (isByVersion ? versionColouring(columns, rows) : undefined),
    [isByVersion, rows],
  )
  return (
    <section class="card" aria-labelledby="map">
      <header class="row map-head">
        <h2 id="map">{t('map')}</h2>
        <SelectField
          label={t('depth')}
          value={String(depth)}
          options={['1', '2', '3', '4'].map((level) => [level, level])}
          onValue={(level) => depthValue.set(Number(level))}
        />
        {!isTable && (
          <SelectField
            label={t('colour')}
            value={colourValue.value}
            options={COLOURINGS.map((name) => [name, t(name)])}
            onValue={(name) => colourValue.set(name)}
          />
        )}
        {!isTable && colourValue.value === 'metric' && (
          <TextValue
            label={t('metricName')}
            value={metricValue.value}
            placeholder="battery.percent"
            onValue={(name) => metricValue.set(name.trim())}
          />
        )}
        {!isNarrow.value && (
          <Button icon={isTable ? 'grid-3x3' : 'list'} onClick={onFlip}>
            {flipText}
          </Button>
        )}
      </header>
      {metric.error !== undefined && <ProblemCard error={metric.error} onRetry={metric.reload} />}
      {isTable ? (
        <GroupTable blocks={counted()} />
      ) : (
        <HeatMap
          blocks={blocks}
          colouring={colourValue.value}
          metric={metric.colouring}
          versions={versions}
          selected={selected.value}
          onSelect={(ids) => {
            selected.value = new Set(ids)
          }}
          onPeek={onPeek}
          onTable={onFlip}
          fallback={<GroupTable blocks={counted()} />}
        />
      )}
      {children}
    </section>
  )
}
