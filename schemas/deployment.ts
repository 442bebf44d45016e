// Bodies of deployments and of the jobs of their devices.
import { type Static, Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import { CanaryRequestBody, StageRequestBody } from './deployment-stage.ts'
import {
  choice,
  closed,
  FreeObject,
  Instant,
  instantText,
  object,
  optionalOrNull,
  orNull,
  whole,
  words,
} from './json-schema.ts'
import { PAGE_QUERY, pageOf } from './page.ts'
import { ExpectedTotal } from './target-preview.ts'
import { DEPLOYMENT_STATUSES, HELD_REASONS, JOB_STATUSES, RETRY_CAUSES } from './vocabulary.ts'

const TARGET_TYPES = ['device', 'group', 'all', 'fleet', 'devices', 'tag', 'type', 'query'] as const
const STRATEGIES = ['all', 'rolling', 'canary', 'stages'] as const
const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
const DEVICE_ID = '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$'

const WindowRequestBody = closed({
  days: Type.Optional(Type.Array(choice(DAYS), { maxItems: 7 })),
  start: Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', examples: ['22:00'] }),
  duration_min: whole(1, 1_440),
  tz: Type.Optional(Type.String({ maxLength: 64, default: 'UTC', examples: ['Europe/Berlin'] })),
})

const Target = closed({
  type: choice(TARGET_TYPES, { examples: ['group'] }),
  value: Type.Optional(Type.Unknown({ description: 'Left out for `all`.', examples: ['warehouse/a'] })),
})

export const DeploymentRequestBody = closed('DeploymentWish', {
  firmware_version: optionalOrNull(Type.String({ minLength: 1, maxLength: 128, examples: ['2.1.0'] })),
  device_type: optionalOrNull(Type.String({ minLength: 1, maxLength: 64, examples: ['mqtt_device'] })),
  firmware_id: optionalOrNull(Type.String({ minLength: 1, maxLength: 64 })),
  name: optionalOrNull(Type.String({ maxLength: 128 })),
  target: Target,
  strategy: Type.Optional(choice(STRATEGIES, { default: 'rolling' })),
  max_concurrent: Type.Optional(whole(1, 1_000)),
  rate_per_minute: optionalOrNull(whole(1, 100_000)),
  ramp: optionalOrNull(
    closed({
      start: Type.Optional(whole(1, 1_000, { default: 1 })),
      factor: Type.Optional(Type.Number({ minimum: 1, maximum: 10, default: 2 })),
    }),
  ),
  rollback_on_failure: Type.Optional(Type.Boolean({ default: true })),
  rollback_scope: Type.Optional(choice(['failed', 'deployment'], { default: 'failed' })),
  canary: optionalOrNull(CanaryRequestBody),
  abort: Type.Optional(
    closed({
      min_finished: Type.Optional(whole(1, 250_000, { default: 5 })),
      failure_percent: Type.Optional(Type.Number({ minimum: 1, maximum: 100, default: 20 })),
      failure_count: optionalOrNull(whole(1, 250_000)),
    }),
  ),
  timeouts: Type.Optional(
    closed({
      download_sec: Type.Optional(whole(1, 604_800, { default: 1_800 })),
      install_sec: Type.Optional(whole(1, 604_800, { default: 900 })),
      reboot_sec: Type.Optional(whole(1, 604_800, { default: 600 })),
      confirm_sec: Type.Optional(whole(1, 604_800, { default: 300 })),
    }),
  ),
  retry: Type.Optional(
    closed({
      max: Type.Optional(whole(0, 10, { default: 2 })),
      backoff_sec: Type.Optional(Type.Array(whole(0, 86_400), { minItems: 1, maxItems: 10 })),
      on: Type.Optional(Type.Array(choice(RETRY_CAUSES), { maxItems: RETRY_CAUSES.length })),
    }),
  ),
  proof: Type.Optional(choice(['reconnect', 'report'], { default: 'reconnect' })),
  stable_sec: Type.Optional(whole(0, 86_400)),
  offline_ttl_sec: Type.Optional(whole(1, 7_776_000, { default: 604_800 })),
  start_at: optionalOrNull(instantText('nothing is sent before')),
  stages: optionalOrNull(Type.Array(StageRequestBody, { minItems: 1, maxItems: 20 })),
  preconditions: Type.Optional(
    Type.Unknown({
      description:
        'A condition as in alert rules, of `threshold`, `state`, `all`, `any` and `not`: a device begins only while it is true, and is held with `precondition` otherwise.',
      examples: [{ kind: 'threshold', metric: 'battery.level', op: '>=', value: 40 }],
    }),
  ),
  expected_total: ExpectedTotal,
  windows: Type.Optional(Type.Array(WindowRequestBody, { maxItems: 14 })),
  force: Type.Optional(Type.Boolean({ default: false })),
  supersede: Type.Optional(Type.Boolean({ default: false })),
})
export type DeploymentRequestBody = Static<typeof DeploymentRequestBody>

const Counts = Type.Record(Type.String(), Type.Integer({ minimum: 0 }))

export const JobBody = object('FirmwareJob', {
  deployment_id: Type.String({ examples: ['dep_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  device_id: Type.String({ examples: ['robot-7'] }),
  status: choice([...JOB_STATUSES, 'skipped']),
  held_reason: orNull(choice(HELD_REASONS), { description: 'Why a pending job does not start.' }),
  reason: orNull(Type.String(), { description: 'Why a device was skipped.' }),
  attempt: Type.Integer({ minimum: 0 }),
  progress: orNull(Type.Number()),
  bytes_sent: Type.Integer({ minimum: 0 }),
  from_version: orNull(Type.String()),
  to_version: orNull(Type.String()),
  deferred_until: orNull(Instant),
  error: orNull(Type.Object({ code: Type.String(), message: Type.String() })),
  late: Type.Boolean(),
  rollback_status: orNull(choice(JOB_STATUSES)),
  notified_at: orNull(Instant),
  downloading_at: orNull(Instant),
  downloaded_at: orNull(Instant),
  installing_at: orNull(Instant),
  rebooting_at: orNull(Instant),
  confirming_at: orNull(Instant),
  finished_at: orNull(Instant),
  next_attempt_at: orNull(Instant),
  created_at: orNull(Instant),
})
export type JobBody = Static<typeof JobBody>
export const JobPage = pageOf(JobBody, 'FirmwareJobPage')

export const DeploymentBody = object('Deployment', {
  deployment_id: Type.String({ examples: ['dep_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  name: orNull(Type.String()),
  kind: choice(['install', 'rollback']),
  status: choice(DEPLOYMENT_STATUSES),
  status_reason: orNull(Type.String()),
  firmware_version: Type.String({ examples: ['2.1.0'] }),
  firmware_id: Type.String(),
  device_type: Type.String(),
  firmware: FreeObject,
  target: Type.Object({ type: choice(TARGET_TYPES), value: Type.Optional(Type.Unknown()) }),
  strategy: choice(STRATEGIES),
  max_concurrent: Type.Integer(),
  rate_per_minute: orNull(Type.Integer()),
  ramp: orNull(FreeObject),
  rollback_on_failure: Type.Boolean(),
  rollback_scope: choice(['failed', 'deployment']),
  canary: orNull(FreeObject),
  abort: FreeObject,
  timeouts: FreeObject,
  retry: FreeObject,
  proof: choice(['reconnect', 'report']),
  stable_sec: Type.Integer(),
  offline_ttl_sec: Type.Integer(),
  start_at: orNull(Instant),
  windows: Type.Array(FreeObject),
  preconditions: orNull(FreeObject),
  force: Type.Boolean(),
  supersede: Type.Boolean(),
  total: Type.Integer({ description: 'All members, the skipped ones included.' }),
  progress: Type.Object({
    total: Type.Integer(),
    pending: Type.Integer(),
    in_progress: Type.Integer(),
    succeeded: Type.Integer(),
    failed: Type.Integer(),
    skipped: Type.Integer(),
    cancelled: Type.Integer(),
    rolled_back: Type.Integer(),
    percent: Type.Number(),
  }),
  stage: Type.Integer(),
  stages: Type.Array(
    Type.Object({
      index: Type.Integer(),
      total: Type.Integer(),
      succeeded: Type.Integer(),
      failed: Type.Integer(),
      state: choice(['waiting', 'running', 'soaking', 'awaiting_approval', 'passed', 'failed']),
      since: Instant,
      started_at: orNull(Instant),
      soak_sec: Type.Optional(Type.Integer()),
      success_percent: Type.Optional(orNull(Type.Number())),
      gate: Type.Optional(FreeObject),
      on_gate_failure: Type.Optional(choice(['abort', 'pause'])),
      approval: Type.Optional(Type.Boolean()),
      max_concurrent: Type.Optional(orNull(Type.Integer())),
    }),
  ),
  window: Type.Integer({ description: 'Devices that may be updated at a time now.' }),
  held: Counts,
  skipped: Counts,
  evidence: FreeObject,
  devices: Type.Optional(Type.Array(JobBody, { description: 'The first page.' })),
  created_by: Type.String(),
  created_at: Instant,
  started_at: orNull(Instant),
  paused_at: orNull(Instant),
  aborted_at: orNull(Instant),
  finished_at: orNull(Instant),
  deadline_at: Instant,
  etag: Type.String(),
})
export type DeploymentBody = Static<typeof DeploymentBody>
export const DeploymentPage = pageOf(DeploymentBody, 'DeploymentPage')

export const DeploymentQuery = closed({
  dry_run: Type.Optional(
    Type.Boolean({ description: 'Only tells which devices it would be, and does nothing.' }),
  ),
})
export const DeploymentListQuery = closed({
  ...PAGE_QUERY,
  status: words(DEPLOYMENT_STATUSES, 'Several with commas between them.'),
  kind: Type.Optional(choice(['install', 'rollback'])),
  device_type: Type.Optional(Type.String({ maxLength: 64 })),
  firmware_version: Type.Optional(Type.String({ maxLength: 128 })),
  target_type: Type.Optional(choice(TARGET_TYPES)),
  group: Type.Optional(Type.String({ maxLength: BODY_LIMITS.groupCharsMax })),
  device_id: Type.Optional(Type.String({ pattern: DEVICE_ID })),
  from: Type.Optional(instantText('inclusive')),
  to: Type.Optional(instantText('exclusive')),
})
export const DeploymentParams = Type.Object({ deployment_id: Type.String({ maxLength: 64 }) })
export const JobParams = Type.Object({
  deployment_id: Type.String({ maxLength: 64 }),
  device_id: Type.String({ maxLength: 64 }),
})
export const OtaDeviceParams = Type.Object({ device_id: Type.String({ maxLength: 64 }) })
export const BlockParams = Type.Object({
  device_id: Type.String({ maxLength: 64 }),
  firmware_id: Type.String({ maxLength: 64 }),
})
export const MemberListQuery = closed({
  ...PAGE_QUERY,
  status: words([...JOB_STATUSES, 'skipped'], 'Several with commas between them.'),
  held: Type.Optional(choice(HELD_REASONS)),
  group: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: BODY_LIMITS.groupCharsMax,
      description: 'Only devices of this group and the groups below it.',
    }),
  ),
  q: Type.Optional(Type.String({ maxLength: 64, description: 'A prefix of the device’s id.' })),
})

export const OtaDeviceBody = object('DeviceFirmware', {
  device_id: Type.String(),
  firmware_version: orNull(Type.String()),
  firmware_id: orNull(Type.String()),
  sha256: orNull(Type.String()),
  previous_version: orNull(Type.String()),
  blocks: Type.Array(Type.Object({ firmware_id: Type.String(), until: Instant })),
  jobs: Type.Array(JobBody, { description: 'Open and waiting ones first, then the last 16.' }),
})

export const RollbackRequestBody = closed({
  version: optionalOrNull(Type.String({ minLength: 1, maxLength: 128 })),
  force: Type.Optional(Type.Boolean({ default: false })),
})
export const RollbackBody = object('Rollback', {
  deployment_id: Type.String(),
  device_id: Type.String(),
  from_version: orNull(Type.String()),
  to_version: Type.String(),
  status: choice(DEPLOYMENT_STATUSES),
})

export const VersionsQuery = closed({
  group: Type.Optional(Type.String({ minLength: 1, maxLength: BODY_LIMITS.groupCharsMax })),
  type: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
})
export const VersionsBody = object('FirmwareVersions', {
  data: Type.Array(
    Type.Object({
      type: Type.String(),
      firmware_version: orNull(Type.String()),
      devices: Type.Integer(),
      online: Type.Integer(),
    }),
  ),
  total: Type.Integer({ description: 'Devices.' }),
})
