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

export const FIRMWARE_STATUSES = ['available', 'deprecated', 'yanked'] as const
export type FirmwareStatus = (typeof FIRMWARE_STATUSES)[number]

/** `ed25519` signs the 32 bytes of the SHA-256, the others sign the image. */
export const SIGNATURE_ALGS = ['ed25519', 'ecdsa-p256-sha256', 'rsa-pss-sha256'] as const
export type SignatureAlg = (typeof SIGNATURE_ALGS)[number]

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Least severe first. */
export const ALERT_SEVERITIES = ['info', 'warning', 'critical'] as const
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number]

/** What alerts must have in common to be combined in one notification. */
export const ALERT_GROUPINGS = ['rule', 'device', 'group', 'none'] as const
export type AlertGrouping = (typeof ALERT_GROUPINGS)[number]

export const CHANNEL_TYPES = ['chat_webhook', 'webhook', 'email'] as const
export type ChannelType = (typeof CHANNEL_TYPES)[number]

export const CHANNEL_STATES = ['ok', 'failing', 'disabled'] as const
export type ChannelState = (typeof CHANNEL_STATES)[number]

/** Notifications about a single alert. If the level rises, another `fired` is sent. */
export const NOTICE_EVENTS = ['fired', 'resolved', 'repeat'] as const
export type NoticeEvent = (typeof NOTICE_EVENTS)[number]

export const DELIVERY_EVENTS = ['fired', 'resolved', 'repeat', 'escalated', 'test', 'digest'] as const
export type DeliveryEvent = (typeof DELIVERY_EVENTS)[number]

export const DELIVERY_STATES = ['pending', 'retrying', 'delivered', 'failed', 'blocked', 'dropped'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

export const CHAT_FORMATS = [
  'auto',
  'slack',
  'mattermost',
  'rocketchat',
  'discord',
  'teams',
  'google_chat',
] as const
export type ChatFormat = (typeof CHAT_FORMATS)[number]

export const ALERT_STATES = ['pending', 'firing', 'recovering', 'resolved'] as const
export type AlertState = (typeof ALERT_STATES)[number]

/** Why an alert was resolved. */
export const ALERT_END_REASONS = [
  'recovered',
  'user',
  'rule_changed',
  'rule_disabled',
  'rule_deleted',
  'target_left',
  'decommissioned',
] as const
export type AlertEndReason = (typeof ALERT_END_REASONS)[number]

export const COMPARISONS = ['>', '>=', '<', '<=', '==', '!='] as const
export type Comparison = (typeof COMPARISONS)[number]

export const NO_DATA_POLICIES = ['keep', 'ok', 'alert'] as const
export const MAINTENANCE_POLICIES = ['mute', 'evaluate', 'off'] as const
export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof WEEKDAYS)[number]

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

/** How to fill buckets without points. */
export const FILLS = ['null', 'previous', 'linear'] as const
export type Fill = (typeof FILLS)[number]

export const EXPORT_FORMATS = ['csv', 'ndjson', 'parquet'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
export const EXPORT_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
}

export const LOGIN_KINDS = ['browser', 'api'] as const

export const TOKEN_SCOPES = ['publish', 'subscribe'] as const
export type TokenScope = (typeof TOKEN_SCOPES)[number]

/** The progress of one device in a deployment, in the order of an update. */
export const JOB_STATUSES = [
  'pending',
  'notified',
  'downloading',
  'downloaded',
  'installing',
  'rebooting',
  'confirming',
  'succeeded',
  'failed',
  'timed_out',
  'rejected',
  'cancelled',
  'rolling_back',
  'rolled_back',
  'rollback_failed',
] as const
export type JobStatus = (typeof JOB_STATUSES)[number]

export const HELD_REASONS = [
  'offline',
  'not_subscribed',
  'window',
  'maintenance',
  'paused',
  'slot',
  'stage',
  'precondition',
  'deferred',
  'backoff',
  'queued',
  'gateway',
] as const
/** Why a pending job does not start. */
export type HeldReason = (typeof HELD_REASONS)[number]

export const DEPLOYMENT_STATUSES = [
  'scheduled',
  'pending',
  'in_progress',
  'paused',
  'rolling_back',
  'completed',
  'failed',
  'aborted',
  'cancelled',
  'rolled_back',
] as const
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number]

/** Failures that may be retried, for `retry.on`. */
export const RETRY_CAUSES = [
  'timed_out',
  'download_failed',
  'checksum_mismatch',
  'device_restarted',
  'install_interrupted',
  'install_failed',
  'rolled_back_by_device',
  'version_mismatch',
  'unstable',
] as const
export type RetryCause = (typeof RETRY_CAUSES)[number]

/** The text that marks an expired certificate. */
export const HAS_EXPIRED = 'has expired'

/** `failed` means that the service could not carry out the request, although it did not refuse it. */
export const AUDIT_OUTCOMES = ['success', 'refused', 'failed'] as const
