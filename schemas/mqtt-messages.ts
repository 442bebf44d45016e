// The messages from and to devices, topic by topic, for the documentation. What the service accepts is decided where a
// message is read, and is more lenient.
import { type TSchema, Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import { choice, FreeObject, Instant, object, orNull } from './json-schema.ts'
import { ProvisionedDevice } from './provisioning.ts'
import {
  type CLOUD_ONLY_SUFFIXES,
  PROVISION_ACCEPTED_SUFFIX,
  PROVISION_GET_SUFFIX,
  PROVISION_REJECTED_SUFFIX,
  type Uplink,
} from './topics.ts'
import { COMMAND_PRIORITIES, LOG_LEVELS, SIGNATURE_ALGS } from './vocabulary.ts'

export interface DeviceMessage {
  /** The topic below `fleet/{device_id}/`, with `{name}` for a parameter. */
  readonly suffix: string
  readonly name: string
  readonly summary: string
  readonly qos: 0 | 1 | 2
  readonly isRetained: boolean
  /** Undefined if the payload is empty. */
  readonly payload: TSchema
}

const text = (example: string, description?: string) =>
  Type.String({ examples: [example], ...(description === undefined ? {} : { description }) })
const Time = Type.Unsafe<string | number>({
  anyOf: [{ type: 'string', format: 'date-time' }, { type: 'number' }],
  description: 'ISO 8601, or milliseconds since 1970. Left out, it is the time of receipt.',
  examples: ['2026-03-01T08:30:00.000Z'],
})
const Failure = Type.Object({ code: text('MOTOR_BLOCKED'), message: text('the left wheel is stuck') })
const Progress = Type.Number({ minimum: 0, maximum: 100, description: 'Percent.', examples: [40] })
const ClientToken = text('report-17', 'The answer repeats it.')
const Version = Type.Integer({ minimum: 0, examples: [7] })

const Report = Type.Unsafe<object>({
  type: 'object',
  properties: { timestamp: Time },
  additionalProperties: true,
  description:
    'Measurements by name. Objects are flattened: `{"battery":{"percent":88}}` is `battery.percent`.',
  examples: [{ temperature: 21.5, battery: { percent: 88 }, timestamp: '2026-03-01T08:30:00.000Z' }],
})
const Reports = Type.Array(Report, { examples: [[{ temperature: 21.5, timestamp: 1_772_353_800_000 }]] })
const Telemetry = Type.Unsafe<object>({ title: 'TelemetryMessage', anyOf: [Report, Reports] })
const NamedTelemetry = Type.Unsafe<object>({
  title: 'NamedTelemetryMessage',
  anyOf: [Report, Reports, { type: ['number', 'string', 'boolean'], examples: [21.5] }],
})
const StatusMessage = object('StatusMessage', {
  status: choice(['online', 'offline'], { examples: ['online'] }),
  session_id: Type.Optional(text('5f0c', 'Another one after each connect.')),
  reason: Type.Optional(text('connect')),
  firmware_version: Type.Optional(text('1.4.2')),
  firmware_sha256: Type.Optional(text('9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08')),
  boot_id: Type.Optional(text('b-19', 'Another one after each restart.')),
})
const LogMessage = object('LogMessage', {
  level: choice(LOG_LEVELS, { examples: ['warn'] }),
  message: text('the wheel slips'),
  logger: Type.Optional(text('drive')),
  timestamp: Type.Optional(Time),
  fields: Type.Optional(FreeObject),
})
const ReportedMessage = Type.Unsafe<object>({
  title: 'ReportedMessage',
  type: 'object',
  description: 'A merge patch of the reported state, or an envelope with it as `state`.',
  examples: [
    { report_interval_sec: 5 },
    { state: { report_interval_sec: 5 }, version: 7, client_token: 'report-17' },
  ],
})
const AckMessage = object('AckMessage', {
  request_id: text('cmd_01jd0c3k9x7m2v5t8r4q6w1z0y'),
  status: choice(['acked', 'accepted', 'in_progress', 'completed', 'failed', 'rejected'], {
    examples: ['completed'],
  }),
  progress: Type.Optional(Progress),
  result: Type.Optional(Type.Unsafe<unknown>({ description: 'Any JSON.', examples: [{ docked: true }] })),
  error: Type.Optional(Failure),
  executed_at: Type.Optional(Time),
})
const OtaStatusMessage = object('OtaStatusMessage', {
  deployment_id: text('dep_01jd0c3k9x7m2v5t8r4q6w1z0y'),
  attempt: Type.Optional(Type.Integer({ minimum: 1, examples: [1] })),
  status: choice(
    [
      ...(['accepted', 'downloading', 'verifying', 'downloaded', 'installing', 'rebooting'] as const),
      ...(['confirming', 'succeeded', 'already_installed', 'failed', 'rejected', 'deferred'] as const),
      ...(['cancelled', 'rolled_back', 'refresh'] as const),
    ],
    { examples: ['downloading'] },
  ),
  progress: Type.Optional(Progress),
  version: Type.Optional(text('2.1.0')),
  error: Type.Optional(Failure),
  until: Type.Optional(Time),
  retry_after_sec: Type.Optional(Type.Number({ minimum: 0, examples: [600] })),
})

const ShadowGetMessage = object('ShadowGetMessage', 'An empty payload does, too.', {
  client_token: Type.Optional(ClientToken),
})
const TokenRequest = object('TokenRequest', 'An empty payload asks for as long a lifetime as may be.', {
  ttl_sec: Type.Optional(
    Type.Integer({
      minimum: BODY_LIMITS.deviceTokenSecMin,
      maximum: BODY_LIMITS.deviceTokenSecMax,
      examples: [86_400],
    }),
  ),
  client_token: Type.Optional(ClientToken),
})

type UplinkKind = Exclude<Uplink['kind'], 'sub' | 'cloud_only' | 'other'>
const up = (
  suffix: string,
  name: string,
  about: Omit<DeviceMessage, 'suffix' | 'name' | 'qos' | 'isRetained'>,
) => ({
  ...({ suffix, name, qos: 1, isRetained: false } as const),
  ...about,
})

/** What devices publish. A new kind of message needs an entry here. */
export const UPLINK_MESSAGES: Readonly<Record<UplinkKind, readonly DeviceMessage[]>> = {
  telemetry: [
    up('telemetry', 'telemetry', { summary: 'Measurements', payload: Telemetry }),
    up('telemetry/{name}', 'named_telemetry', {
      summary: 'Measurements whose names begin with `{name}.`, or a single value',
      payload: NamedTelemetry,
    }),
  ],
  status: [
    {
      ...up('status', 'status', {
        summary: 'Birth, sign of life, farewell and last will',
        payload: StatusMessage,
      }),
      isRetained: true,
    },
  ],
  log: [up('log', 'log', { summary: 'A log line, or up to 100 of them', payload: LogMessage })],
  reported: [up('shadow/reported', 'reported', { summary: 'Reported state', payload: ReportedMessage })],
  shadow_get: [
    up('shadow/get', 'shadow_get', {
      summary: 'Asks for the whole shadow; may be empty',
      payload: ShadowGetMessage,
    }),
  ],
  ack: [up('command/ack', 'command_ack', { summary: 'The answer to a command', payload: AckMessage })],
  token_get: [up('token/get', 'token_get', { summary: 'Asks for a new token', payload: TokenRequest })],
  ota_status: [
    up('ota/status', 'ota_status', { summary: 'How far an update is', payload: OtaStatusMessage }),
  ],
}

const CommandMessage = object('CommandMessage', {
  request_id: text('cmd_01jd0c3k9x7m2v5t8r4q6w1z0y', 'The same when the command is delivered twice.'),
  command: text('dock'),
  data: FreeObject,
  timeout_ms: Type.Integer({ minimum: 1, examples: [30_000] }),
  expires_at: Instant,
  priority: choice(COMMAND_PRIORITIES, { examples: ['normal'] }),
  issued_at: Instant,
})
const DesiredMessage = object('DesiredMessage', '`state` is all that differs from the reported state.', {
  version: Version,
  state: FreeObject,
  metadata: Type.Optional(FreeObject),
  timestamp: Instant,
})
const OtaMessage = object('OtaMessage', {
  deployment_id: text('dep_01jd0c3k9x7m2v5t8r4q6w1z0y'),
  request_id: text('dep_01jd0c3k9x7m2v5t8r4q6w1z0y'),
  attempt: Type.Integer({ minimum: 1, examples: [1] }),
  seq: Type.Integer({ minimum: 0, examples: [1] }),
  action: choice(['install', 'rollback', 'cancel'], { examples: ['install'] }),
  version: text('2.1.0'),
  reports_as: text('2.1.0', 'The version that the device says once it runs it.'),
  device_type: text('ros2_robot'),
  checksum: text('sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'),
  sha256: text('9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'),
  size_bytes: Type.Integer({ minimum: 0, examples: [1_048_576] }),
  filename: text('robot.bin'),
  content_type: text('application/octet-stream'),
  signature: Type.Optional(text('MEUCIQ…')),
  signature_alg: Type.Optional(choice(SIGNATURE_ALGS)),
  url: text('https://fleet.example.com/ota/artifacts/fw_…/robot.bin?…'),
  manifest: Type.Optional(text('eyJ…', 'All of it, signed.')),
  local_ok: Type.Boolean({ description: 'An image that the device has kept will do.', examples: [false] }),
  force: Type.Boolean({ examples: [false] }),
  not_after: orNull(Instant),
  expires_at: Instant,
  issued_at: Instant,
})
const AcceptedMessage = object('ReportAccepted', {
  version: Version,
  timestamp: Instant,
  client_token: Type.Optional(ClientToken),
})
const RejectedMessage = object('ReportRejected', {
  code: text('DEVICE_SHADOW_CONFLICT'),
  status: Type.Integer({ examples: [409] }),
  title: text('Shadow version conflict'),
  detail: Type.Optional(text('expected version 7, got 6')),
  timestamp: Instant,
  client_token: Type.Optional(ClientToken),
})
const ShadowMessage = object('ShadowMessage', {
  device_id: text('robot-7'),
  version: Version,
  desired: FreeObject,
  reported: FreeObject,
  delta: FreeObject,
  in_sync: Type.Boolean({ examples: [true] }),
  metadata: Type.Optional(FreeObject),
  updated_at: orNull(Instant),
  timestamp: Instant,
  client_token: Type.Optional(ClientToken),
})

type CloudOnly = (typeof CLOUD_ONLY_SUFFIXES)[number]
/** What is sent to devices on topics reserved for the cloud. A new one needs an entry here. */
export const CLOUD_MESSAGES: Readonly<Record<CloudOnly, DeviceMessage>> = {
  command: {
    ...up('command', 'command', { summary: 'A command; critical ones with QoS 2', payload: CommandMessage }),
  },
  'shadow/desired': {
    ...up('shadow/desired', 'desired', { summary: 'The state that is wished for', payload: DesiredMessage }),
    isRetained: true,
  },
  ota: up('ota', 'ota', { summary: 'Firmware to install, or to leave alone', payload: OtaMessage }),
}

const TokenMessage = object('TokenMessage', {
  mqtt_token: text('eyJhbGciOiJIUzI1NiJ9…'),
  expires_at: Instant,
  client_token: Type.Optional(ClientToken),
})
const ErrorMessage = object('ErrorMessage', {
  code: text('UNKNOWN_TOPIC', 'The reason of the dead letter, or `TOKEN_EXPIRES`.'),
  detail: text('nothing takes messages on telemtry; did you mean telemetry?'),
  topic: text('fleet/robot-7/telemtry'),
  advice: text('publish on one of the topics in the guide for devices'),
  timestamp: Instant,
})

const ProvisionRequest = object('ProvisionRequest', 'An empty payload does as well.', {
  name: Type.Optional(text('Picker 7')),
  client_token: Type.Optional(ClientToken),
})
const ProvisionAccepted = object('ProvisionAccepted', {
  ...ProvisionedDevice.properties,
  client_token: Type.Optional(ClientToken),
})
const ProvisionRejected = object('ProvisionRejected', {
  code: text('PROVISIONING_PENDING'),
  status: Type.Integer({ examples: [409] }),
  detail: text('The device waits for approval'),
  advice: text('The device asks again, after a while.'),
  retry_after_sec: Type.Optional(Type.Integer({ minimum: 1, examples: [30] })),
  client_token: Type.Optional(ClientToken),
})

/** The request of a device that connects with a provisioning key as its password. No other client may publish it. */
export const PROVISION_REQUEST: DeviceMessage = up(PROVISION_GET_SUFFIX, 'provision_get', {
  summary: 'Asks to be registered, on a connection with a provisioning key as password',
  payload: ProvisionRequest,
})

/** Answers to messages of devices. */
export const ANSWER_MESSAGES: readonly DeviceMessage[] = [
  up(PROVISION_ACCEPTED_SUFFIX, 'provision_accepted', {
    summary: 'The device is registered: its token',
    payload: ProvisionAccepted,
  }),
  up(PROVISION_REJECTED_SUFFIX, 'provision_rejected', {
    summary: 'Why the device is not registered',
    payload: ProvisionRejected,
  }),
  up('token/accepted', 'token_accepted', { summary: 'A new token', payload: TokenMessage }),
  {
    ...up('error', 'device_error', {
      summary: 'What is wrong with a message of the device',
      payload: ErrorMessage,
    }),
    qos: 0,
  },
  up('shadow/reported/accepted', 'report_accepted', {
    summary: 'A report was taken',
    payload: AcceptedMessage,
  }),
  up('shadow/reported/rejected', 'report_rejected', {
    summary: 'A report was refused',
    payload: RejectedMessage,
  }),
  up('shadow/get/accepted', 'shadow', { summary: 'The whole shadow', payload: ShadowMessage }),
]
