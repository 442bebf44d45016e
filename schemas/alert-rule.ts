// Bodies of /alerts/rules.
import { type Static, Type } from 'typebox'
import type { Condition } from './alert-condition.ts'
import { LINE_PATTERN } from './auth.ts'
import {
  AsRead,
  choice,
  closed,
  Instant,
  instantText,
  object,
  orNull,
  PassedOver,
  withoutDefaults,
} from './json-schema.ts'
import { PAGE_QUERY, pageOf } from './page.ts'
import {
  ALERT_GROUPINGS,
  ALERT_SEVERITIES,
  MAINTENANCE_POLICIES,
  NO_DATA_POLICIES,
  WEEKDAYS,
} from './vocabulary.ts'

const seconds = (minimum: number, maximum: number, fallback: number) =>
  Type.Integer({ minimum, maximum, default: fallback, examples: [fallback] })
const DURATION_SEC_MAX = 2_592_000

/** `engine/domain/alert/target.ts` validates the value for each type of target. */
const TARGET_TYPES = ['device', 'group', 'all', 'fleet', 'devices', 'tag', 'type', 'query'] as const
const TargetBody = Type.Object(
  {
    type: choice(TARGET_TYPES),
    value: Type.Optional(
      Type.Unsafe<unknown>({
        description:
          'The device, the group (with the groups below it), the list of devices, the tag, the device type, or the filters of `GET /devices` as an object. `all` has none.',
      }),
    ),
  },
  { title: 'AlertTarget', additionalProperties: false, examples: [{ type: 'group', value: 'warehouse' }] },
)

export const WindowBody = closed('Window', 'A stretch of time that comes again on some days of the week.', {
  days: Type.Optional(
    Type.Array(choice(WEEKDAYS), {
      minItems: 1,
      maxItems: WEEKDAYS.length,
      description: 'Left out: every day.',
    }),
  ),
  start: Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', examples: ['22:00'] }),
  duration_min: Type.Integer({ minimum: 1, maximum: 1_440, examples: [480] }),
  tz: Type.Optional(Type.String({ maxLength: 64, default: 'UTC', examples: ['Europe/Berlin'] })),
})
export type WindowBody = Static<typeof WindowBody>

const ConditionBody = Type.Unsafe<Condition>({
  type: 'object',
  title: 'AlertCondition',
  description:
    'One of the kinds threshold, range, absence, state, rate, repeat, flapping, out_of_sync, log, command_failed, deployment_failed, dead_letter, heartbeat, fleet and fleet_metric, or `{"all":[…]}`, `{"any":[…]}`, `{"not":…}` of conditions.',
  examples: [{ kind: 'threshold', metric: 'battery.percent', op: '<', value: 20, clear_value: 25 }],
})

const LevelBody = closed('AlertLevel', {
  severity: choice(ALERT_SEVERITIES),
  value: Type.Number(),
  clear_value: Type.Optional(Type.Number()),
})

const Names = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 50, uniqueItems: true })

const WISHES = {
  name: Type.String({ minLength: 1, maxLength: 128, pattern: LINE_PATTERN, examples: ['battery low'] }),
  description: Type.Optional(orNull(Type.String({ maxLength: 4_096 }))),
  enabled: Type.Optional(Type.Boolean({ default: true, examples: [true] })),
  severity: Type.Optional(choice(ALERT_SEVERITIES, { default: 'warning' })),
  target: TargetBody,
  condition: ConditionBody,
  levels: Type.Optional(
    orNull(Type.Array(LevelBody, { minItems: 1, maxItems: ALERT_SEVERITIES.length }), {
      description: 'One alert that moves between severities. For a threshold only.',
    }),
  ),
  clear: Type.Optional(
    orNull(ConditionBody, {
      description: 'The alert leaves firing when this is true, instead of when `condition` is false.',
    }),
  ),
  for_sec: Type.Optional(seconds(0, DURATION_SEC_MAX, 0)),
  keep_firing_for_sec: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: DURATION_SEC_MAX,
      description: 'Default: 0, or 300 for conditions that are events.',
      examples: [0],
    }),
  ),
  repeat_interval_sec: Type.Optional(seconds(60, 604_800, 14_400)),
  no_data: Type.Optional(choice(NO_DATA_POLICIES, { default: 'keep' })),
  no_data_after_sec: Type.Optional(seconds(1, DURATION_SEC_MAX, 300)),
  active: Type.Optional(Type.Array(WindowBody, { maxItems: 14, examples: [[]] })),
  during_maintenance: Type.Optional(choice(MAINTENANCE_POLICIES, { default: 'mute' })),
  inhibit_when_offline: Type.Optional(Type.Boolean({ default: true, examples: [true] })),
  inhibited_by: Type.Optional(
    Type.Array(Type.String({ maxLength: 128 }), {
      maxItems: 16,
      description: 'Rules: while one of them fires for the same device, this one notifies nobody.',
      examples: [[]],
    }),
  ),
  flap: Type.Optional(
    closed('AlertFlap', {
      episodes: Type.Optional(Type.Integer({ minimum: 2, maximum: 20, default: 3 })),
      within_sec: Type.Optional(Type.Integer({ minimum: 60, maximum: 86_400, default: 600 })),
      hold_sec: Type.Optional(Type.Integer({ minimum: 10, maximum: 86_400, default: 900 })),
    }),
  ),
  send_resolved: Type.Optional(Type.Boolean({ default: true, examples: [true] })),
  channels: Type.Optional(
    orNull(Names, {
      description: 'Left out or null: the channels with `default`. An empty list: nobody.',
    }),
  ),
  group_by: Type.Optional(choice(ALERT_GROUPINGS, { default: 'rule' })),
  message: Type.Optional(orNull(Type.String({ maxLength: 1_024 }))),
  labels: Type.Optional(
    Type.Unsafe<Readonly<Record<string, string>>>({
      type: 'object',
      maxProperties: 16,
      propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,128}$' },
      additionalProperties: { type: 'string', maxLength: 128 },
      examples: [{}],
    }),
  ),
}

export const RuleRequestBody = closed('AlertRuleRequest', WISHES)
export type RuleRequestBody = Static<typeof RuleRequestBody>

/** Fields of a rule that a request cannot set. A rule that was read, changed and sent back contains them. */
const SHOWN = {
  ...{ rule_id: AsRead, source: AsRead, created_by: AsRead, created_at: AsRead },
  ...{ revision: PassedOver, updated_at: PassedOver, etag: PassedOver, state: PassedOver },
}

export const ReplaceRuleBody = closed('ReplaceAlertRule', { ...WISHES, ...SHOWN })
export type ReplaceRuleBody = Static<typeof ReplaceRuleBody>

export const EditRuleBody = Type.Partial(Type.Object({ ...withoutDefaults(WISHES), ...SHOWN }), {
  title: 'EditAlertRule',
  additionalProperties: false,
  description:
    'A merge patch. `condition`, `target`, `levels`, `clear`, `flap` and `labels` are replaced as a whole.',
  examples: [{ enabled: false }],
})
export type EditRuleBody = Static<typeof EditRuleBody>

const RULE_SOURCES = ['api', 'device_type'] as const

export const RuleBody = object('AlertRule', {
  rule_id: Type.String({ examples: ['rul_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  name: Type.String({ examples: ['battery low'] }),
  description: orNull(Type.String()),
  enabled: Type.Boolean({ examples: [true] }),
  severity: choice(ALERT_SEVERITIES, { examples: ['warning'] }),
  target: TargetBody,
  condition: ConditionBody,
  levels: orNull(Type.Array(LevelBody)),
  clear: orNull(ConditionBody),
  for_sec: Type.Integer({ examples: [60] }),
  keep_firing_for_sec: Type.Integer({ examples: [0] }),
  repeat_interval_sec: Type.Integer({ examples: [14_400] }),
  no_data: choice(NO_DATA_POLICIES, { examples: ['keep'] }),
  no_data_after_sec: Type.Integer({ examples: [300] }),
  active: Type.Array(WindowBody, { examples: [[]] }),
  during_maintenance: choice(MAINTENANCE_POLICIES, { examples: ['mute'] }),
  inhibit_when_offline: Type.Boolean({ examples: [true] }),
  inhibited_by: Type.Array(Type.String(), { examples: [[]] }),
  flap: Type.Object(
    { episodes: Type.Integer(), within_sec: Type.Integer(), hold_sec: Type.Integer() },
    { title: 'AlertFlapSettings', examples: [{ episodes: 3, within_sec: 600, hold_sec: 900 }] },
  ),
  send_resolved: Type.Boolean({ examples: [true] }),
  channels: orNull(Type.Array(Type.String())),
  group_by: choice(ALERT_GROUPINGS, { examples: ['rule'] }),
  message: orNull(Type.String()),
  labels: Type.Unsafe<Readonly<Record<string, string>>>({ type: 'object', examples: [{}] }),
  source: choice(RULE_SOURCES, { examples: ['api'] }),
  revision: Type.Integer({ minimum: 1, examples: [1] }),
  created_by: Type.String({ examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  created_at: Instant,
  updated_at: Instant,
  etag: Type.String({ examples: ['"1-rul"'] }),
  state: Type.Object(
    { firing: Type.Integer({ minimum: 0 }), pending: Type.Integer({ minimum: 0 }) },
    { title: 'AlertRuleState', examples: [{ firing: 0, pending: 0 }] },
  ),
})
export type RuleBody = Static<typeof RuleBody>
export const RulePage = pageOf(RuleBody, 'AlertRulePage')

export const RuleParams = Type.Object({
  rule_id: Type.String({ examples: ['rul_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
})
export const RuleListQuery = closed({
  ...PAGE_QUERY,
  severity: Type.Optional(choice(ALERT_SEVERITIES)),
  enabled: Type.Optional(Type.Boolean()),
  q: Type.Optional(Type.String({ maxLength: 128, description: 'Part of the name.' })),
})

export const RuleTestBody = closed('AlertRuleTest', {
  rule: RuleRequestBody,
  from: instantText('inclusive', '-24h'),
  to: Type.Optional(instantText('at most 7 days later; default: now', 'now')),
  device_ids: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      minItems: 1,
      maxItems: 100,
      uniqueItems: true,
      description: 'Left out: up to 100 devices of the target.',
      examples: [['robot-7']],
    }),
  ),
})
const Episode = object('AlertEpisode', {
  device_id: Type.String({ examples: ['robot-7'] }),
  started_at: Instant,
  fired_at: Instant,
  resolved_at: orNull(Instant),
  peak: orNull(Type.Number(), { description: 'The value furthest in the direction of the condition.' }),
  count: Type.Integer({ minimum: 1 }),
})
export const RuleTestResult = object('AlertRuleTestResult', {
  devices: Type.Integer({ minimum: 0 }),
  points: Type.Integer({ minimum: 0 }),
  episodes: Type.Array(Episode, { examples: [[]] }),
  notifications: Type.Integer({ minimum: 0, description: 'What would have been told, with reminders.' }),
  truncated: Type.Boolean({ description: 'There are more devices, or more episodes, than these.' }),
})
export type RuleTestResult = Static<typeof RuleTestResult>
