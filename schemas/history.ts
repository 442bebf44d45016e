// Bodies of a device's log and of its timeline.
import { Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import { Group } from './device.ts'
import { choice, closed, FreeObject, Instant, object, orNull, words } from './json-schema.ts'
import { CURSOR_QUERY, NextCursor } from './page.ts'
import { LOG_LEVELS } from './vocabulary.ts'

export const EVENT_KINDS = ['status', 'command', 'shadow', 'ota', 'alert'] as const

export const LogQuery = closed({
  ...CURSOR_QUERY,
  level: words(LOG_LEVELS, `Of: ${LOG_LEVELS.join(', ')}; several with commas between them`),
})
export const EventQuery = closed({
  ...CURSOR_QUERY,
  kind: words(EVENT_KINDS, `Of: ${EVENT_KINDS.join(', ')}; several with commas between them`),
})

const FLEET_QUERY = {
  ...CURSOR_QUERY,
  group: Type.Optional(Group),
  device_id: Type.Optional(Type.String({ maxLength: 64, examples: ['robot-7'] })),
}
export const FleetLogQuery = closed({
  ...FLEET_QUERY,
  level: LogQuery.properties.level,
  find: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: BODY_LIMITS.findCharsMax,
      description: 'A text in the message or the logger, in any letter case.',
      examples: ['slips'],
    }),
  ),
})
export const FleetEventQuery = closed({ ...FLEET_QUERY, kind: EventQuery.properties.kind })

const LOG_FIELDS = {
  timestamp: Instant,
  level: choice(LOG_LEVELS, { examples: ['warn'] }),
  message: Type.String({ examples: ['wheel 2 slips'] }),
  logger: orNull(Type.String(), { examples: ['drive'] }),
  fields: FreeObject,
}
export const LogBody = object('LogEntry', LOG_FIELDS)
const DeviceId = Type.String({ examples: ['robot-7'] })
const FLEET_PAGE =
  'Newest first. A page may hold fewer entries than asked for, even none: go on while there is a `next_cursor`.'
export const FleetLogPage = object('FleetLogPage', FLEET_PAGE, {
  data: Type.Array(object('FleetLogEntry', { device_id: DeviceId, ...LOG_FIELDS })),
  next_cursor: NextCursor,
})
export const LogPage = object('LogPage', 'Newest first.', {
  device_id: Type.String({ examples: ['robot-7'] }),
  data: Type.Array(LogBody),
  next_cursor: NextCursor,
})

const EVENT_FIELDS = { timestamp: Instant, kind: choice(EVENT_KINDS), data: FreeObject }
export const FleetEventPage = object('FleetEventPage', FLEET_PAGE, {
  data: Type.Array(object('FleetTimelineEvent', { device_id: DeviceId, ...EVENT_FIELDS })),
  next_cursor: NextCursor,
})
export const EventBody = Type.Object(EVENT_FIELDS, {
  title: 'TimelineEvent',
  description: 'A status move, a step of a command, a change of the shadow, or a move of an alert.',
  examples: [
    {
      timestamp: '2026-03-01T08:30:00.000Z',
      kind: 'status',
      data: { from: 'offline', to: 'online', cause: 'heartbeat' },
    },
  ],
})
export const EventPage = object('EventPage', 'Newest first.', {
  device_id: Type.String({ examples: ['robot-7'] }),
  data: Type.Array(EventBody),
  next_cursor: NextCursor,
})
