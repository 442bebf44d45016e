// The reasons for refusing a telemetry payload, as the dead-letter list shows them.

const TELEMETRY_REFUSALS = [
  'empty',
  'not_utf8',
  'not_json',
  'not_object',
  'too_deep',
  'too_many_fields',
  'too_many_reports',
  'bad_name',
  'bad_number',
  'bad_timestamp',
] as const
export type RefusalReason = (typeof TELEMETRY_REFUSALS)[number]

export interface TelemetryRefusal {
  readonly kind: 'refused'
  readonly reason: RefusalReason
  readonly detail: string
}

export function refused(reason: RefusalReason, detail: string): TelemetryRefusal {
  return { kind: 'refused', reason, detail }
}
