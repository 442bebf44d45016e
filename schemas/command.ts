// Bodies of /commands: commands to single devices and to groups.
import { type Static, Type } from 'typebox'
import { LINE_PATTERN } from './auth.ts'
import { BODY_LIMITS } from './body-limits.ts'
import { Group } from './device.ts'
import type { Json, JsonObject } from './json.ts'
import { choice, closed, FreeObject, Instant, object, orNull, sortBy } from './json-schema.ts'
import { CURSOR_QUERY, NextCursor, PAGE_QUERY, pageOf } from './page.ts'
import { ExpectedTotal } from './target-preview.ts'
import { COMMAND_PRIORITIES, COMMAND_STATUSES } from './vocabulary.ts'

export const CommandParams = Type.Object({
  device_id: Type.String({ examples: ['robot-7'] }),
  cmd_id: Type.String({ examples: ['cmd_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
})
export const BroadcastParams = Type.Object({
  broadcast_id: Type.String({ examples: ['bc_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
})

const WISH_FIELDS = {
  command: Type.String({
    minLength: 1,
    maxLength: BODY_LIMITS.commandNameCharsMax,
    pattern: LINE_PATTERN,
    examples: ['move_to'],
  }),
  data: Type.Optional(orNull(FreeObject, { examples: [{ x: 4.5, y: 2 }] })),
  timeout_sec: Type.Optional(
    Type.Integer({
      minimum: 1,
      examples: [60],
      maximum: BODY_LIMITS.commandTimeoutSecMax,
      description: `Default: ${BODY_LIMITS.commandTimeoutSecDefault}, or ${BODY_LIMITS.commandTimeoutSecCritical} for critical commands.`,
    }),
  ),
  priority: Type.Optional(choice(COMMAND_PRIORITIES, { default: 'normal' })),
}
export const CommandRequestBody = closed('CommandRequest', WISH_FIELDS)
export type CommandRequestBody = Static<typeof CommandRequestBody>
const BROADCAST_TARGETS = ['group', 'tag', 'devices', 'query'] as const
const BroadcastTarget = closed('BroadcastTarget', {
  type: choice(BROADCAST_TARGETS, { examples: ['tag'] }),
  value: Type.Unknown({
    description: `A group, whose subtree is meant; a tag; 1 to ${BODY_LIMITS.bulkRowsMax} device ids; or an object with filters of \`GET /devices\` (status, type, group, group_exact, tag, parent_id, q).`,
    examples: ['floor-2'],
  }),
})
export type BroadcastTargetBody = Static<typeof BroadcastTarget>
export const BroadcastRequestBody = Type.Object(
  {
    group: Type.Optional(Group),
    target: Type.Optional(BroadcastTarget),
    ...WISH_FIELDS,
    expected_total: ExpectedTotal,
  },
  {
    title: 'BroadcastRequest',
    additionalProperties: false,
    description:
      'Either `group` or `target` is needed. With a group, the command goes to every device of the group and of the groups below it.',
    examples: [{ group: 'warehouse/a', command: 'stop', priority: 'critical' }],
  },
)
export type BroadcastRequestBody = Static<typeof BroadcastRequestBody>

export const WaitQuery = closed({
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: BODY_LIMITS.waitSecMax,
      description: 'Seconds to wait for the command to end. The header `Prefer: wait=…` does the same.',
    }),
  ),
})
const Statuses = Type.Optional(
  Type.Array(Type.String({ maxLength: 128 }), {
    maxItems: COMMAND_STATUSES.length,
    description: `Statuses to list (${COMMAND_STATUSES.join(', ')}), separated by commas or as repeated parameters. acked includes completed.`,
    examples: [['pending,delivered']],
  }),
)
export const CommandListQuery = closed({
  ...PAGE_QUERY,
  status: Statuses,
  sort: sortBy(['created_at'], 'created_at:DESC'),
})

const CommandData = Type.Unsafe<JsonObject>({ type: 'object', examples: [{ x: 4.5, y: 2 }] })
const By = Type.String({
  description: 'Id of a user or an API key.',
  examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'],
})
const Result = Type.Unsafe<Json>({ description: 'Result that the device reported.' })
const ErrorBody = orNull(Type.Object({ code: Type.String(), message: Type.String() }))
const Conflict = Type.Object(
  {
    status: choice(COMMAND_STATUSES),
    at: Instant,
    executed_at: orNull(Instant),
    result: Result,
    error: ErrorBody,
  },
  { description: 'A later answer that contradicts the final one.' },
)

export const CommandBody = object('Command', {
  command_id: Type.String({ examples: ['cmd_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  device_id: Type.String({ examples: ['robot-7'] }),
  command: Type.String({ examples: ['move_to'] }),
  data: CommandData,
  status: choice(COMMAND_STATUSES, { examples: ['delivered'] }),
  held_reason: orNull(choice(['maintenance', 'firmware_update'])),
  priority: choice(COMMAND_PRIORITIES, { examples: ['normal'] }),
  timeout_sec: Type.Integer({ minimum: 1, examples: [60] }),
  created_at: Instant,
  created_by: By,
  expires_at: Type.String({ format: 'date-time', examples: ['2026-03-01T08:31:00.000Z'] }),
  delivered_at: orNull(Instant, { examples: ['2026-03-01T08:30:00.120Z'] }),
  acked_at: orNull(Instant),
  completed_at: orNull(Instant),
  executed_at: orNull(Instant),
  cancelled_at: orNull(Instant),
  cancelled_by: orNull(Type.String()),
  progress: orNull(Type.Number({ minimum: 0, maximum: 100 })),
  result: Result,
  result_bytes_omitted: orNull(
    Type.Integer({ minimum: 0, description: 'Size of a result that was too large to be kept.' }),
  ),
  error: orNull(Type.Object({ code: Type.String(), message: Type.String() }), {
    description:
      'What the device said went wrong. Of a command that is open or expired: `MALFORMED_ACK` if the device answered something that cannot be read.',
  }),
  attempts: Type.Integer({ minimum: 0, examples: [1] }),
  late: Type.Boolean({ description: 'True if the result came after the command had expired.' }),
  conflicts: Type.Array(Conflict, { examples: [[]] }),
  broadcast_id: orNull(Type.String()),
})
export type CommandBody = Static<typeof CommandBody>
export const CommandPage = pageOf(CommandBody, 'CommandPage')

const Text = Type.Optional(Type.String({ minLength: 1, maxLength: BODY_LIMITS.commandNameCharsMax }))
export const FleetCommandQuery = closed({
  ...CURSOR_QUERY,
  status: Statuses,
  command: Text,
  group: Type.Optional(Group),
  device_id: Type.Optional(Type.String({ maxLength: 64, examples: ['robot-7'] })),
  created_by: Text,
  broadcast_id: Text,
})
export const FleetCommandPage = object(
  'FleetCommandPage',
  'Newest first. A page may hold fewer commands than asked for, even none: go on while there is a `next_cursor`.',
  { data: Type.Array(CommandBody), next_cursor: NextCursor },
)

const BROADCAST_STATUSES = [
  'pending',
  'in_progress',
  'completed',
  'partial',
  'failed',
  'rejected',
  'expired',
  'cancelled',
] as const
const SKIP_REASONS = ['decommissioned', 'queue_full', 'unknown_command', 'invalid_parameters'] as const
const BROADCAST_FIELDS = {
  broadcast_id: Type.String({ examples: ['bc_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  group: orNull(Type.String(), {
    description: 'Null if it went to another target.',
    examples: ['warehouse/a'],
  }),
  target: object('BroadcastTargetKept', {
    type: choice(BROADCAST_TARGETS, { examples: ['group'] }),
    value: Type.Unknown({ description: 'Of named devices, the first 50.', examples: ['warehouse/a'] }),
  }),
  command: Type.String({ examples: ['move_to'] }),
  data: CommandData,
  priority: choice(COMMAND_PRIORITIES, { examples: ['normal'] }),
  timeout_sec: orNull(Type.Integer(), { examples: [60] }),
  status: choice(BROADCAST_STATUSES),
  total: Type.Integer({
    minimum: 0,
    description: 'Number of devices that were meant.',
    examples: [2],
  }),
  accepted: Type.Integer({ minimum: 0, examples: [1] }),
  skipped: Type.Array(Type.Object({ device_id: Type.String(), reason: choice(SKIP_REASONS) }), {
    description: 'The first skipped devices. total - accepted were skipped in all.',
    examples: [[{ device_id: 'robot-3', reason: 'decommissioned' }]],
  }),
  created_at: Instant,
  created_by: By,
}
const StatusCounts = object(
  'StatusCounts',
  Object.fromEntries(COMMAND_STATUSES.map((status) => [status, Type.Integer({ minimum: 0 })])),
)
export const BroadcastSendQuery = closed({
  dry_run: Type.Optional(
    Type.Boolean({ description: 'Tell whom it would go to, and send nothing. The answer is 200.' }),
  ),
})
export const BroadcastBody = object('Broadcast', BROADCAST_FIELDS)
export const BroadcastListQuery = closed(PAGE_QUERY)
export const BroadcastListPage = pageOf(
  object('CountedBroadcast', { ...BROADCAST_FIELDS, counts: StatusCounts }),
  'BroadcastPage',
)
export const BroadcastDevicesQuery = closed({ ...PAGE_QUERY, status: Statuses })
export const BroadcastStateBody = object('BroadcastState', {
  ...BROADCAST_FIELDS,
  counts: StatusCounts,
  commands: CommandPage,
})
export const BroadcastQuery = closed(PAGE_QUERY)
