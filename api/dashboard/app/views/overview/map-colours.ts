// What the colour of a cell tells: a state of the device, or the value of a metric.
import { FLAG, type FleetColumns, STATUS } from '../../fleet/columns.ts'
import { type MetricScale, SCALE_STEPS, stepOf } from '../../fleet/metric-scale.ts'

export const COLOURINGS = ['status', 'seen', 'alert', 'sync', 'fw', 'metric'] as const
export type Colouring = (typeof COLOURINGS)[number]

/** The fills of the tokens, as red, green, blue. */
export type Fills = Readonly<Record<FillName, readonly [number, number, number]>>
export const STATUS_FILLS = ['online', 'offline', 'error', 'maintenance', 'provisioning'] as const
export const METRIC_FILLS = ['metric-0', 'metric-1', 'metric-2', 'metric-3', 'metric-4'] as const
export const VERSION_FILLS = [
  'version-1',
  'version-2',
  'version-3',
  'version-4',
  'version-5',
  'version-6',
] as const
export const FILL_NAMES = [...STATUS_FILLS, ...METRIC_FILLS, ...VERSION_FILLS, 'none', 'chosen'] as const
export type FillName = (typeof FILL_NAMES)[number]

/** The values by which cells are coloured, and the scale of them. */
export interface MetricColouring {
  readonly values: Float64Array
  readonly scale: MetricScale
}

const BY_STATUS: Readonly<Record<number, FillName>> = {
  [STATUS.online]: 'online',
  [STATUS.offline]: 'offline',
  [STATUS.error]: 'error',
  [STATUS.maintenance]: 'maintenance',
  [STATUS.provisioning]: 'provisioning',
  [STATUS.decommissioned]: 'offline',
}

export interface FillParts {
  readonly columns: FleetColumns
  readonly colouring: Colouring
  readonly metric: MetricColouring | undefined
  /** The fill of a version, by its place among the words of the column. */
  readonly versions: ReadonlyMap<number, FillName> | undefined
  readonly nowMs: number
}

export function fillOf(row: number, { columns, colouring, metric, versions, nowMs }: FillParts): FillName {
  const flags = columns.flags[row] ?? 0
  switch (colouring) {
    case 'status':
      return BY_STATUS[columns.status[row] ?? 0] ?? 'offline'
    case 'alert':
      return (flags & FLAG.critical) !== 0 ? 'error' : (flags & FLAG.warning) !== 0 ? 'maintenance' : 'online'
    case 'sync':
      return (flags & FLAG.outOfSync) === 0 ? 'online' : 'provisioning'
    case 'seen': {
      const age = nowMs - (columns.seen[row] ?? 0)
      if (age < 60_000) return 'online'
      if (age < 600_000) return 'provisioning'
      return age < 3_600_000 ? 'maintenance' : 'offline'
    }
    case 'fw':
      return versions?.get(columns.firmware[row] ?? 0) ?? 'none'
    case 'metric': {
      const step = metric && stepOf(metric.scale, metric.values[row])
      return step === undefined ? 'none' : (METRIC_FILLS[Math.min(step, SCALE_STEPS - 1)] ?? 'none')
    }
  }
}
