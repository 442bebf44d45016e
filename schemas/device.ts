// Bodies of /devices.
import { type Static, Type } from 'typebox'
import { LINE_PATTERN } from './auth.ts'
import { BODY_LIMITS, GROUP_PATTERN } from './body-limits.ts'
import type { JsonObject } from './json.ts'
import { choice, closed, FreeObject, IMMUTABLE, Instant, object, orNull, sortBy } from './json-schema.ts'
import { PAGE_QUERY, pageOf } from './page.ts'
import { DEVICE_STATUSES, JOB_STATUSES } from './vocabulary.ts'

const Name = Type.String({
  minLength: 1,
  maxLength: BODY_LIMITS.nameCharsMax,
  pattern: LINE_PATTERN,
  examples: ['Picker 7'],
})
export const Group = Type.String({
  maxLength: BODY_LIMITS.groupCharsMax,
  pattern: GROUP_PATTERN,
  examples: ['warehouse/a'],
})
const Tag = Type.String({ minLength: 1, maxLength: BODY_LIMITS.tagCharsMax, pattern: LINE_PATTERN })
export const Tags = Type.Array(Tag, { maxItems: BODY_LIMITS.tagsMax, examples: [['picker', 'floor-2']] })
const Description = Type.String({ maxLength: BODY_LIMITS.descriptionCharsMax })
const Metadata = Type.Unsafe<JsonObject>({ type: 'object', examples: [{ serial: 'A-1187', floor: 2 }] })
export const DeviceIdText = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$',
  examples: ['robot-7'],
})

/** Fields that are set at registration or by the service, and never changed by callers. */
const IMMUTABLE_FIELDS = ['device_id', 'type', 'access_token', 'parent_id'] as const
/** [contract 2.5] These are refused with a code of their own, because a caller who sends them expects a change. */
const CHANGEABLE_ONLY = { additionalProperties: false, [IMMUTABLE]: IMMUTABLE_FIELDS } as const

const HeartbeatTimeout = Type.Integer({
  minimum: BODY_LIMITS.heartbeatTimeoutSecMin,
  maximum: BODY_LIMITS.heartbeatTimeoutSecMax,
  description: 'Silence after which the device is offline. Null means that of its type, or of the service.',
  examples: [900],
})

export const DeviceParams = Type.Object({ device_id: Type.String({ examples: ['robot-7'] }) })

/** Excludes `export`, because `/devices/export` is a path of its own. */
export const NewDeviceId = Type.String({
  pattern: '^(?!export$)[A-Za-z0-9][A-Za-z0-9_-]{0,63}$',
  examples: ['robot-7'],
})

export const RegisterDeviceBody = closed('RegisterDeviceBody', {
  device_id: Type.Optional(NewDeviceId),
  name: Name,
  type: Type.String({ minLength: 1, maxLength: 64, examples: ['mqtt_device'] }),
  description: Type.Optional(orNull(Description)),
  group: Type.Optional(orNull(Group, { examples: ['warehouse/a'] })),
  tags: Type.Optional(orNull(Tags, { examples: [['picker', 'floor-2']] })),
  metadata: Type.Optional(orNull(Metadata, { examples: [{ serial: 'A-1187', floor: 2 }] })),
  parent_id: Type.Optional(orNull(DeviceIdText)),
  heartbeat_timeout_sec: Type.Optional(orNull(HeartbeatTimeout)),
})
export type RegisterDeviceBody = Static<typeof RegisterDeviceBody>

export const ReplaceDeviceBody = Type.Object(
  {
    name: Type.Optional(Name),
    description: Type.Optional(orNull(Description)),
    group: Type.Optional(orNull(Group, { examples: ['warehouse/b'] })),
    tags: Type.Optional(orNull(Tags, { examples: [['picker']] })),
    metadata: Type.Optional(orNull(Metadata, { examples: [{ serial: 'A-1187' }] })),
    heartbeat_timeout_sec: Type.Optional(orNull(HeartbeatTimeout)),
  },
  {
    title: 'ReplaceDeviceBody',
    ...CHANGEABLE_ONLY,
    description:
      'Group, tags and metadata are emptied if they are left out. Name, description and heartbeat timeout stay.',
  },
)

export const EditDeviceBody = Type.Object(
  {
    name: Type.Optional(Name),
    description: Type.Optional(orNull(Description)),
    group: Type.Optional(orNull(Group)),
    tags: Type.Optional(orNull(Tags)),
    metadata: Type.Optional(orNull(FreeObject)),
    heartbeat_timeout_sec: Type.Optional(orNull(HeartbeatTimeout)),
    status: Type.Optional(choice(DEVICE_STATUSES)),
    status_reason: Type.Optional(Type.String({ maxLength: BODY_LIMITS.reasonCharsMax })),
  },
  {
    title: 'EditDeviceBody',
    ...CHANGEABLE_ONLY,
    description: 'A JSON merge patch (RFC 7396).',
    examples: [{ status: 'maintenance', status_reason: 'new wheels', metadata: { floor: null } }],
  },
)

const DeviceFirmware = Type.Object({
  version: orNull(Type.String(), { examples: ['1.4.2'] }),
  firmware_id: orNull(Type.String(), { description: 'The image that a deployment proved to run.' }),
  sha256: orNull(Type.String(), {
    description: 'As the device says it, or of the image that a deployment proved to run.',
  }),
  since: orNull(Instant),
  previous_version: orNull(Type.String(), { examples: ['1.4.1'] }),
  update: orNull(
    Type.Object({
      deployment_id: Type.String(),
      status: choice(JOB_STATUSES),
      progress: orNull(Type.Number()),
    }),
  ),
})

const DEVICE_FIELDS = {
  device_id: Type.String({ examples: ['robot-7'] }),
  name: Type.String({ examples: ['Picker 7'] }),
  type: Type.String({ examples: ['mqtt_device'] }),
  description: orNull(Type.String()),
  status: choice(DEVICE_STATUSES, { examples: ['online'] }),
  status_reason: orNull(Type.String()),
  group: orNull(Type.String(), { examples: ['warehouse/a'] }),
  tags: Type.Array(Type.String(), { examples: [['picker', 'floor-2']] }),
  metadata: Metadata,
  parent_id: orNull(Type.String(), { description: 'The gateway that speaks for the device.' }),
  firmware_version: orNull(Type.String(), { examples: ['1.4.2'] }),
  firmware: DeviceFirmware,
  issues: Type.Array(Type.String(), {
    examples: [[]],
    description:
      'The faults that the device reported in its diagnostics, each with its name and message. A device leaves the status `error` when every one of them has been reported well (level 0 or 1) for ten seconds.',
  }),
  heartbeat_timeout_sec: Type.Number({
    description: 'Silence after which the device is offline: its own, its type’s or the service’s.',
    examples: [60],
  }),
  connectivity: object('Connectivity', {
    connected: Type.Boolean({ examples: [true] }),
    since: orNull(Instant, { examples: ['2026-03-01T08:30:00.000Z'] }),
    reason: orNull(Type.String(), { examples: ['connect'] }),
    session_id: orNull(Type.String()),
    ip: orNull(Type.String(), { examples: ['10.0.4.17'] }),
    subscriptions: Type.Array(Type.String(), {
      description:
        'Which of `command` and `ota` its connection has subscribed to. Commands wait for a device without `command`.',
      examples: [['command', 'ota']],
    }),
    flapping: Type.Boolean({
      description: 'True if five or more connects are remembered. One is forgotten each minute.',
    }),
  }),
  last_seen_at: orNull(Instant, { examples: ['2026-03-01T08:31:05.250Z'] }),
  last_telemetry_at: orNull(Instant, { examples: ['2026-03-01T08:31:05.250Z'] }),
  alerts: object('OpenAlerts', 'How many alerts of the device are open.', {
    critical: Type.Integer({ minimum: 0 }),
    warning: Type.Integer({ minimum: 0 }),
    info: Type.Integer({ minimum: 0 }),
  }),
  created_at: Instant,
  updated_at: Instant,
  etag: Type.String({ examples: ['4-1k2j3h'] }),
}
export const DeviceBody = object('Device', DEVICE_FIELDS)
export type DeviceBody = Static<typeof DeviceBody>

/** The expiry of the token that a registration returns. */
export const TokenExpiresAt = Type.String({
  format: 'date-time',
  description: 'Until when `access_token` is good: a year from now.',
  examples: ['2027-03-01T08:30:00.000Z'],
})

export const RegisteredDevice = object('RegisteredDevice', {
  ...DEVICE_FIELDS,
  id: Type.String({ description: 'The same as `device_id`.', examples: ['robot-7'] }),
  access_token: Type.String({
    description: 'The MQTT password of the device. It is shown in this answer only.',
    examples: ['eyJhbGciOiJIUzI1NiJ9…'],
  }),
  token_expires_at: TokenExpiresAt,
  mqtt_topics: Type.Object({
    publish: Type.String({ examples: ['fleet/robot-7/#'] }),
    subscribe: Type.String({ examples: ['fleet/robot-7/#'] }),
  }),
  mqtt_endpoint: Type.String({ examples: ['mqtt://localhost:1883'] }),
})

export const DecommissionQuery = closed({
  purge: Type.Optional(
    Type.Boolean({
      description: 'Removes everything about the device, and frees its id. It cannot be undone.',
    }),
  ),
})

const DEVICE_FORMATS = ['ndjson', 'csv'] as const
export const DEVICE_FILTERS = {
  status: Type.Optional(choice(DEVICE_STATUSES)),
  type: Type.Optional(Type.String({ minLength: 1 })),
  group: Type.Optional(Group),
  group_exact: Type.Optional(
    Type.Boolean({ description: 'Only the group itself, without the groups below it.' }),
  ),
  tag: Type.Optional(
    Type.Array(Tag, {
      maxItems: BODY_LIMITS.tagsMax,
      description: 'If repeated, devices must have all of the tags.',
    }),
  ),
  parent_id: Type.Optional(DeviceIdText),
  firmware_version: Type.Optional(
    Type.String({
      maxLength: 128,
      description: 'The version that a device says it runs. Empty for devices that have said none.',
      examples: ['2.1.0'],
    }),
  ),
  q: Type.Optional(
    Type.String({ maxLength: BODY_LIMITS.nameCharsMax, description: 'Beginning of the name or id.' }),
  ),
}

/** The filters of lists. A bulk edit takes a single status. */
const LIST_FILTERS = {
  ...DEVICE_FILTERS,
  status: Type.Optional(
    Type.Array(Type.String({ maxLength: 128 }), {
      maxItems: DEVICE_STATUSES.length,
      description: `Statuses (${DEVICE_STATUSES.join(', ')}), separated by commas or as repeated parameters.`,
      examples: [['error,offline']],
    }),
  ),
}

const SORTS = ['created_at', 'updated_at', 'name', 'device_id', 'status', 'type', 'group'] as const
export const DeviceListQuery = closed({
  ...PAGE_QUERY,
  ...LIST_FILTERS,
  sort: sortBy(SORTS, 'created_at:DESC'),
})
export const DevicePage = pageOf(DeviceBody, 'DevicePage')

export const DeviceExportQuery = closed({
  ...LIST_FILTERS,
  format: Type.Optional(
    choice(DEVICE_FORMATS, { description: 'Default: the format that `Accept` asks for, else `ndjson`.' }),
  ),
})
