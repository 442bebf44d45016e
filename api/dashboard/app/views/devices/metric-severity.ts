import type { DeviceType } from '../../parts/command-draft.ts'

/** How a value stands to the bounds that the device's type gives. */
export function severityOf(
  value: unknown,
  metric: string,
  type: Pick<DeviceType, 'telemetry' | 'status_fields'> | undefined,
): 'warning' | 'critical' | undefined {
  if (typeof value !== 'number' || type === undefined) return undefined
  const telemetry = type.telemetry.find(({ field }) => field === metric)
  const status = type.status_fields.find(({ field }) => field === metric)
  const isBelow = (bound: number | null | undefined) => bound != null && value < bound
  if (isBelow(status?.critical_below)) return 'critical'
  const isAbove = telemetry?.alert_above != null && value > telemetry.alert_above
  return isAbove || isBelow(telemetry?.alert_below) || isBelow(status?.warn_below) ? 'warning' : undefined
}
