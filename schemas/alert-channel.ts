// Bodies of /alerts/channels: where alert notifications are sent, and the results of sending them.
import { type Static, Type } from 'typebox'
import { Group } from './device.ts'
import { AsRead, choice, closed, Instant, object, optionalOrNull, orNull, PassedOver } from './json-schema.ts'
import { PAGE_QUERY, pageOf } from './page.ts'
import {
  ALERT_SEVERITIES,
  CHANNEL_STATES,
  CHANNEL_TYPES,
  CHAT_FORMATS,
  DELIVERY_EVENTS,
  DELIVERY_STATES,
} from './vocabulary.ts'

export const ChannelParams = Type.Object({
  channel_id: Type.String({ examples: ['ch_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
})
export const DeliveryParams = Type.Object({
  delivery_id: Type.String({ examples: ['del_alt_01jd0c3k9x_1_fired_lq2x_ch_01jd0c3k9x'] }),
})

const severities = Type.Array(choice(ALERT_SEVERITIES), {
  minItems: 1,
  uniqueItems: true,
  examples: [['warning', 'critical']],
})
const WAIT_SEC_MAX = 2_592_000
const url = (description: string) => Type.String({ minLength: 1, maxLength: 2_048, description })

const SETTINGS = {
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 128, examples: ['Operations'] })),
  enabled: Type.Optional(Type.Boolean()),
  severity: Type.Optional(severities),
  default: Type.Optional(Type.Boolean({ description: 'Whether rules that name no channels use it.' })),
  group: Type.Optional(orNull(Group, { description: 'Only alerts of devices in this group and below it.' })),
  group_wait_sec: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: WAIT_SEC_MAX,
      description: 'Alerts that fire within this time are one message. Critical ones do not wait.',
    }),
  ),
  group_interval_sec: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: WAIT_SEC_MAX,
      description: 'Time until the next message about the same.',
    }),
  ),
  rate_per_minute: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 600,
      description: 'Beyond it, messages become one digest a minute.',
    }),
  ),
  fallback_channel_id: optionalOrNull(
    Type.String({ maxLength: 128, description: 'The channel that is told if this one cannot be reached.' }),
  ),
  send_resolved: optionalOrNull(
    Type.Boolean({ description: 'Whether the end of alerts is told, too; null leaves it to the rules.' }),
  ),
  webhook_url: Type.Optional(url('Of a `chat_webhook`. It is a secret, and shown as `https://host/…`.')),
  channel: optionalOrNull(Type.String({ minLength: 1, maxLength: 128, examples: ['#operations'] })),
  format: Type.Optional(choice(CHAT_FORMATS)),
  url: Type.Optional(url('Of a `webhook`.')),
  method: Type.Optional(choice(['POST', 'PUT', 'PATCH'])),
  headers: Type.Optional(
    Type.Record(Type.String(), Type.String({ maxLength: 1_024 }), {
      maxProperties: 20,
      description: 'Of a `webhook`. Values are secrets, and shown as `••••`.',
    }),
  ),
  template: optionalOrNull(
    Type.Unsafe<string | Record<string, unknown>>({
      anyOf: [{ type: 'string', maxLength: 16_384 }, { type: 'object' }],
      description:
        'Of a `webhook`: the body as a JSON text, with placeholders such as `{{alert.message}}` in its strings.',
    }),
  ),
  to: Type.Optional(
    Type.Array(Type.String({ maxLength: 254, pattern: '^[^\\s@<>",;]+@[^\\s@<>",;]+$' }), {
      minItems: 1,
      maxItems: 50,
      examples: [['ops@example.com']],
    }),
  ),
  subject: optionalOrNull(Type.String({ minLength: 1, maxLength: 256 })),
}

export const NewChannelBody = closed('NewChannelBody', {
  type: choice(CHANNEL_TYPES, { examples: ['chat_webhook'] }),
  ...SETTINGS,
})
export type NewChannelBody = Static<typeof NewChannelBody>

export const EditChannelBody = closed(
  'EditChannelBody',
  'What is left out stays as it is. A secret that is sent as it is shown stays as it is, too.',
  {
    type: Type.Optional(choice(CHANNEL_TYPES)),
    ...SETTINGS,
    secret: Type.Optional(
      choice(['••••'], { description: 'As it is shown. `rotate-secret` makes another.' }),
    ),
    ...{ channel_id: AsRead, created_at: AsRead, created_by: AsRead },
    ...{ state: PassedOver, last_error: PassedOver, updated_at: PassedOver, etag: PassedOver },
  },
)
export type EditChannelBody = Static<typeof EditChannelBody>

const LAST_ERROR = Type.Object({ code: Type.String({ examples: ['HTTP_500'] }), at: Instant })

const CHANNEL_FIELDS = {
  channel_id: Type.String({ examples: ['ch_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  name: Type.String(),
  type: choice(CHANNEL_TYPES),
  severity: severities,
  state: choice(CHANNEL_STATES),
  ...{ enabled: Type.Optional(Type.Boolean()), default: Type.Optional(Type.Boolean()) },
  group: Type.Optional(orNull(Type.String())),
  group_wait_sec: Type.Optional(Type.Integer()),
  group_interval_sec: Type.Optional(Type.Integer()),
  rate_per_minute: Type.Optional(Type.Integer()),
  fallback_channel_id: Type.Optional(orNull(Type.String())),
  send_resolved: Type.Optional(orNull(Type.Boolean())),
  last_error: Type.Optional(orNull(LAST_ERROR)),
  created_at: Type.Optional(Instant),
  created_by: Type.Optional(Type.String()),
  updated_at: Type.Optional(Instant),
  etag: Type.Optional(Type.String({ examples: ['1'] })),
  webhook_url: Type.Optional(Type.String({ examples: ['https://hooks.slack.com/…'] })),
  channel: Type.Optional(orNull(Type.String())),
  format: Type.Optional(choice(CHAT_FORMATS)),
  url: Type.Optional(Type.String()),
  method: Type.Optional(choice(['POST', 'PUT', 'PATCH'])),
  headers: Type.Optional(Type.Record(Type.String(), Type.String({ examples: ['••••'] }))),
  template: Type.Optional(orNull(Type.String())),
  secret: Type.Optional(
    Type.String({ description: 'Shown in full when it is made, and as `••••` afterwards.' }),
  ),
  to: Type.Optional(Type.Array(Type.String())),
  subject: Type.Optional(orNull(Type.String())),
}
export const ChannelBody = object(
  'Channel',
  'Operators and viewers see its id, name, type, severities and state.',
  CHANNEL_FIELDS,
)
export type ChannelBody = Static<typeof ChannelBody>

export const ChannelListQuery = closed(PAGE_QUERY)
export const ChannelPage = pageOf(ChannelBody, 'ChannelPage')

export const DeleteChannelQuery = closed({
  force: Type.Optional(Type.Boolean({ default: false, description: 'Delete it even if rules name it.' })),
})

export const ChannelTestBody = object('ChannelTest', {
  delivered: Type.Boolean(),
  status_code: orNull(Type.Integer({ examples: [200] })),
  latency_ms: Type.Integer({ examples: [84] }),
  error: Type.Optional(Type.Object({ code: Type.String({ examples: ['TIMEOUT'] }), message: Type.String() })),
})
export type ChannelTestBody = Static<typeof ChannelTestBody>

export const DeliveryBody = object('Delivery', {
  delivery_id: Type.String(),
  notification_id: Type.String({
    description: 'The same for every try. Receivers of webhooks see it as `webhook-id`.',
  }),
  channel_id: Type.String(),
  event: choice(DELIVERY_EVENTS),
  alert_ids: Type.Array(Type.String()),
  state: choice(DELIVERY_STATES),
  attempts: Type.Array(
    Type.Object({
      at: Instant,
      status_code: orNull(Type.Integer({ examples: [200] })),
      error_code: orNull(Type.String({ examples: ['HTTP_500'] })),
      latency_ms: Type.Integer({ examples: [84] }),
    }),
  ),
  next_attempt_at: orNull(Instant),
  created_at: Instant,
})
export type DeliveryBody = Static<typeof DeliveryBody>
export const DeliveryPage = pageOf(DeliveryBody, 'DeliveryPage')
