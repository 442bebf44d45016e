// Bodies of /alerts: alerts, what people do to them, and silences.
import { type Static, Type } from 'typebox'
import { WindowBody } from './alert-rule.ts'
import { Group } from './device.ts'
import type { JsonObject } from './json.ts'
import { choice, closed, Instant, instantText, object, orNull, sortBy, words } from './json-schema.ts'
import { PAGE_QUERY, pageOf } from './page.ts'
import {
  ALERT_END_REASONS,
  ALERT_SEVERITIES,
  ALERT_STATES,
  CHANNEL_STATES,
  CHANNEL_TYPES,
  DELIVERY_STATES,
  NOTICE_EVENTS,
} from './vocabulary.ts'

const AlertIdText = Type.String({ examples: ['alt_5f0c2a9b1e7d4c36_robot-7'] })
const Value = Type.Unsafe<unknown>({
  description: 'A number, a text, true or false, or null.',
  examples: [17.5],
})

const ALERT_FIELDS = {
  alert_id: orNull(Type.String(), {
    description: 'Null while an instance is pending: it is no alert yet.',
    examples: ['alt_5f0c2a9b1e7d4c36_robot-7'],
  }),
  rule_id: Type.String({ examples: ['rul_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  rule_name: Type.String({ examples: ['battery low'] }),
  scope: choice(['device', 'fleet'], { examples: ['device'] }),
  device_id: orNull(Type.String(), { examples: ['robot-7'] }),
  group: orNull(Type.String(), { examples: ['warehouse/a'] }),
  group_key: Type.String({
    description: 'The same for alerts that are one storm: by the `group_by` of their rule.',
    examples: ['rule:rul_01jd0c3k9x7m2v5t8r4q6w1z0y'],
  }),
  type: Type.String({ description: 'Kind of the condition, or `no_data`.', examples: ['threshold'] }),
  metric: orNull(Type.String(), { examples: ['battery.percent'] }),
  severity: choice(ALERT_SEVERITIES, { examples: ['warning'] }),
  state: choice(ALERT_STATES, { examples: ['firing'] }),
  acknowledged: Type.Boolean({ examples: [false] }),
  acknowledged_by: orNull(Type.String()),
  acknowledged_at: orNull(Instant),
  assignee: orNull(Type.String()),
  snoozed_until: orNull(Instant, { description: 'Nobody is reminded before then.' }),
  snoozed_by: orNull(Type.String()),
  value: Value,
  threshold: Value,
  message: Type.String({ examples: ['Picker 7: threshold 17.5 (20)'] }),
  description: orNull(Type.String()),
  labels: Type.Unsafe<Readonly<Record<string, string>>>({ type: 'object', examples: [{}] }),
  started_at: Instant,
  fired_at: orNull(Instant, { examples: ['2026-03-01T08:30:00.000Z'] }),
  resolved_at: orNull(Instant),
  last_value_at: orNull(Instant),
  count: Type.Integer({ minimum: 0, description: 'How often the condition became true.', examples: [1] }),
  reason: orNull(choice(ALERT_END_REASONS), { description: 'Why it was resolved.' }),
  flapping: Type.Boolean({ examples: [false] }),
  suppressed_by: Type.Array(Type.String(), {
    description:
      'What keeps it from being notified: `silence:<id>`, `maintenance`, `offline`, `firmware_update`, `rule:<id>`, `snooze`.',
    examples: [[]],
  }),
  notified: Type.Array(
    object('AlertNotified', {
      channel_id: Type.String({ examples: ['ch_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
      event: choice(NOTICE_EVENTS),
      at: Instant,
      state: choice(DELIVERY_STATES),
    }),
    { description: 'Which channels were told of what, oldest first.', examples: [[]] },
  ),
  comments: Type.Array(object('AlertComment', { at: Instant, by: Type.String(), text: Type.String() }), {
    examples: [[]],
  }),
  revision: Type.Integer({ minimum: 0, examples: [1] }),
  link: Type.String({ examples: ['http://localhost:8000/devices/robot-7'] }),
}
export const AlertBody = object('Alert', ALERT_FIELDS)
export const AlertPage = pageOf(AlertBody, 'AlertPage')

const Entry = Type.Unsafe<JsonObject>({
  type: 'object',
  title: 'AlertMove',
  examples: [{ event: 'alert.fired' }],
})
export const AlertDetail = object('AlertDetail', {
  ...ALERT_FIELDS,
  timeline: Type.Array(Entry, {
    description: 'Its moves, newest first; empty while the history cannot be read.',
    examples: [[]],
  }),
})

export const AlertParams = Type.Object({ alert_id: AlertIdText })

export const AlertListQuery = closed({
  ...PAGE_QUERY,
  state: words(
    ALERT_STATES,
    `Of: ${ALERT_STATES.join(', ')}; several with commas between them. Default: firing,recovering`,
  ),
  severity: words(ALERT_SEVERITIES, `Of: ${ALERT_SEVERITIES.join(', ')}; several with commas between them`),
  device_id: Type.Optional(Type.String({ maxLength: 64 })),
  group: Type.Optional(Group),
  rule_id: Type.Optional(Type.String({ maxLength: 256 })),
  type: Type.Optional(Type.String({ maxLength: 64 })),
  acknowledged: Type.Optional(Type.Boolean()),
  flapping: Type.Optional(Type.Boolean()),
  snoozed: Type.Optional(Type.Boolean()),
  group_key: Type.Optional(Type.String({ maxLength: 512, description: 'Only alerts of this storm.' })),
  from: Type.Optional(instantText('inclusive, about `fired_at`')),
  to: Type.Optional(instantText('exclusive, about `fired_at`')),
  sort: sortBy(['fired_at', 'severity', 'last_value_at'], 'fired_at:desc'),
})

const Counts = object('SeverityCounts', {
  critical: Type.Integer({ minimum: 0 }),
  warning: Type.Integer({ minimum: 0 }),
  info: Type.Integer({ minimum: 0 }),
})
export const AlertSummary = object('AlertSummary', {
  by_state: Type.Object({ pending: Counts, firing: Counts, recovering: Counts }),
  by_group: Type.Array(Type.Object({ group: orNull(Type.String()), counts: Counts }), { examples: [[]] }),
  overloaded: Type.Integer({
    minimum: 0,
    description: 'Devices that more rules fit than the 100 oldest, which are judged.',
  }),
  overflowing: Type.Integer({
    minimum: 0,
    description: 'Devices with a condition that waits because 100 000 alerts are open.',
  }),
  channels: Type.Array(
    object('ChannelHealth', {
      channel_id: Type.String({ examples: ['ch_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
      name: Type.String(),
      type: choice(CHANNEL_TYPES),
      state: choice(CHANNEL_STATES),
    }),
    { examples: [[]] },
  ),
})

const Comment = Type.String({ minLength: 1, maxLength: 2_000, examples: ['looking into it'] })
export const AckBody = closed('AlertAck', { comment: Type.Optional(Comment) })
export const ResolveBody = closed('AlertResolve', {
  comment: Type.Optional(Comment),
  snooze_sec: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2_592_000,
      description: 'After this time a condition that was never false gives a new alert.',
    }),
  ),
})
export const ALERT_SNOOZE_SEC_MAX = 31_622_400
const SNOOZE_FIELDS = {
  until: Type.Optional(instantText('to come', '2030-03-01T18:00:00Z')),
  for_sec: Type.Optional(Type.Integer({ minimum: 1, maximum: ALERT_SNOOZE_SEC_MAX, examples: [3_600] })),
}
export const SnoozeBody = Type.Object(SNOOZE_FIELDS, {
  title: 'AlertSnooze',
  additionalProperties: false,
  description: 'Either `until` or `for_sec`, at most 366 days from now.',
  examples: [{ for_sec: 3_600 }],
})

const BULK_ALERTS_MAX = 500
export const BulkAlertsBody = Type.Object(
  {
    alert_ids: Type.Optional(
      Type.Array(Type.String({ maxLength: 128 }), {
        minItems: 1,
        maxItems: BULK_ALERTS_MAX,
        uniqueItems: true,
      }),
    ),
    filter: Type.Optional(
      closed(
        'BulkAlertsFilter',
        `Open alerts that fit all of it, the first ${BULK_ALERTS_MAX} to have fired.`,
        {
          severity: Type.Optional(Type.Array(choice(ALERT_SEVERITIES), { minItems: 1, maxItems: 3 })),
          device_id: Type.Optional(Type.String({ maxLength: 64 })),
          group: Type.Optional(Group),
          rule_id: Type.Optional(Type.String({ maxLength: 256 })),
          type: Type.Optional(Type.String({ maxLength: 64 })),
          group_key: Type.Optional(Type.String({ maxLength: 512 })),
          acknowledged: Type.Optional(Type.Boolean()),
          snoozed: Type.Optional(Type.Boolean()),
        },
      ),
    ),
    action: choice(['ack', 'snooze', 'resolve', 'assign'], { examples: ['ack'] }),
    comment: Type.Optional(Comment),
    ...SNOOZE_FIELDS,
    snooze_sec: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_592_000, description: 'Of `resolve`.' })),
    user_id: Type.Optional(orNull(Type.String({ maxLength: 128 }), { description: 'Of `assign`.' })),
  },
  {
    title: 'BulkAlerts',
    additionalProperties: false,
    description: 'Either `alert_ids` or `filter`.',
    examples: [{ alert_ids: ['alt_5f0c2a9b1e7d4c36_robot-7'], action: 'ack' }],
  },
)
export const BulkAlertsResult = object('BulkAlertsResult', {
  matched: Type.Integer({ minimum: 0, description: 'Alerts that were named, or fit the filter.' }),
  done: Type.Integer({ minimum: 0 }),
  results: Type.Array(
    object('BulkAlertResult', {
      alert_id: Type.String(),
      done: Type.Boolean(),
      code: Type.Optional(Type.String({ examples: ['INVALID_STATE_TRANSITION'] })),
    }),
  ),
})

export const AssignBody = closed('AlertAssign', {
  user_id: orNull(Type.String({ maxLength: 128 }), { examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
})
export const CommentBody = closed('AlertCommentRequest', { text: Comment })

// --- silences

const Matchers = Type.Object(
  {
    rule_id: Type.Optional(Type.String({ maxLength: 256 })),
    device_id: Type.Optional(Type.String({ maxLength: 64 })),
    group: Type.Optional(Group),
    type: Type.Optional(Type.String({ maxLength: 64, description: 'A device type.' })),
    tag: Type.Optional(Type.String({ maxLength: 64 })),
    severity: Type.Optional(Type.Array(choice(ALERT_SEVERITIES), { minItems: 1, maxItems: 3 })),
  },
  {
    title: 'SilenceMatchers',
    additionalProperties: false,
    minProperties: 1,
    description: 'All that are given must match.',
    examples: [{ group: 'warehouse/a' }],
  },
)
const SilenceComment = Type.String({ minLength: 1, maxLength: 2_000, examples: ['rewiring hall 2'] })
export const SilenceRequestBody = closed('SilenceRequest', {
  matchers: Matchers,
  starts_at: Type.Optional(instantText('default: now')),
  ends_at: instantText('at most a year after starts_at', '2026-03-01T18:00:00Z'),
  windows: Type.Optional(
    Type.Array(WindowBody, { maxItems: 14, description: 'It mutes within these only.', examples: [[]] }),
  ),
  comment: SilenceComment,
})
export type SilenceRequestBody = Static<typeof SilenceRequestBody>
export const EditSilence = Type.Object(
  {
    matchers: Type.Optional(Matchers),
    starts_at: Type.Optional(instantText('its beginning')),
    ends_at: Type.Optional(instantText('at most a year after starts_at', '2026-03-01T18:00:00Z')),
    windows: Type.Optional(Type.Array(WindowBody, { maxItems: 14 })),
    comment: Type.Optional(SilenceComment),
  },
  { title: 'EditSilence', additionalProperties: false, examples: [{ comment: 'rewiring takes longer' }] },
)
export type EditSilence = Static<typeof EditSilence>
const SILENCE_STATES = ['pending', 'active', 'expired'] as const
export const SilenceBody = object('Silence', {
  silence_id: Type.String({ examples: ['sil_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  matchers: Matchers,
  starts_at: Instant,
  ends_at: Instant,
  windows: Type.Array(WindowBody, { examples: [[]] }),
  comment: SilenceComment,
  created_by: Type.String({ examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  created_at: Instant,
  state: choice(SILENCE_STATES, { examples: ['active'] }),
})
export const SilencePage = pageOf(SilenceBody, 'SilencePage')
export const SilenceParams = Type.Object({
  silence_id: Type.String({ examples: ['sil_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
})
export const SilenceListQuery = closed({
  ...PAGE_QUERY,
  device_id: Type.Optional(
    Type.String({ maxLength: 64, description: 'Only silences whose matchers name this device.' }),
  ),
  state: words(SILENCE_STATES, `Of: ${SILENCE_STATES.join(', ')}`),
})
