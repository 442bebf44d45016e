// The closed vocabularies of the specification. Wire names stay as the specification writes them.

export const DEVICE_STATUSES = [
  'provisioning',
  'online',
  'offline',
  'error',
  'maintenance',
  'decommissioned',
] as const
export type DeviceStatus = (typeof DEVICE_STATUSES)[number]

export const DEVICE_TYPES = ['ros2_robot', 'micro_ros_mcu', 'mqtt_device', 'gateway', 'simulator'] as const
export type BuiltInDeviceType = (typeof DEVICE_TYPES)[number]

export const COMMAND_STATUSES = [
  'pending',
  'delivered',
  'acked',
  'completed',
  'failed',
  'rejected',
  'expired',
  'cancelled',
] as const
export type CommandStatus = (typeof COMMAND_STATUSES)[number]

/** Most urgent first. */
export const COMMAND_PRIORITIES = ['critical', 'high', 'normal', 'low'] as const
export type CommandPriority = (typeof COMMAND_PRIORITIES)[number]

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export const ROLES = ['admin', 'operator', 'viewer'] as const
export type Role = (typeof ROLES)[number]

export const INTERVALS = ['10s', '1m', '5m', '1h', '1d'] as const
export type Interval = (typeof INTERVALS)[number]
export const INTERVAL_SECONDS: Readonly<Record<Interval, number>> = {
  '10s': 10,
  '1m': 60,
  '5m': 300,
  '1h': 3600,
  '1d': 86_400,
}

export const AGGREGATES = [
  'avg',
  'min',
  'max',
  'count',
  'last',
  'sum',
  'first',
  'p50',
  'p95',
  'p99',
  'stddev',
] as const
export type Aggregate = (typeof AGGREGATES)[number]
/** The aggregates of a bucket if a query names none. */
export const AGGREGATES_DEFAULT: readonly Aggregate[] = ['avg', 'min', 'max', 'count', 'last']

/** Values of a bucket without points. */
export const FILLS = ['null', 'previous', 'linear'] as const
export type Fill = (typeof FILLS)[number]

export const EXPORT_FORMATS = ['csv', 'ndjson', 'parquet'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
export const EXPORT_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
}

export const TOKEN_SCOPES = ['publish', 'subscribe'] as const
export type TokenScope = (typeof TOKEN_SCOPES)[number]
