// The values by which the map is coloured.
import { useMemo } from 'preact/hooks'
import { scaleOf } from '../../fleet/metric-scale.ts'
import { useMetricColumns } from '../../live/metric-columns.ts'
import type { MetricColouring } from './map-colours.ts'

export interface MapMetric {
  /** Undefined while nobody has a number. */
  readonly colouring: MetricColouring | undefined
  readonly error: unknown
  readonly reload: () => void
}

/** An empty name asks for nothing. */
export function useMapMetric(name: string): MapMetric {
  const { columns, version, error, reload } = useMetricColumns(name === '' ? [] : [name], 'all')
  const colouring = useMemo(() => {
    const values = columns[name]
    const scale = values && scaleOf(values)
    return values && scale && { values, scale }
  }, [columns, version, name])
  return { colouring, error, reload }
}
