// Why a telemetry payload is not taken. It ends in the dead-letter list under this word.

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
export type TelemetryRefusal = (typeof TELEMETRY_REFUSALS)[number]

export interface Refused {
  readonly kind: 'refused'
  readonly reason: TelemetryRefusal
  readonly detail: string
}

export function refused(reason: TelemetryRefusal, detail: string): Refused {
  return { kind: 'refused', reason, detail }
}
