// Bodies of a device's log and of its timeline.
import { Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import { Group } from './device.ts'
import { choice, FreeObject, Instant, orNull, words } from './json-schema.ts'
import { CURSOR_QUERY, NextCursor } from './page.ts'
import { LOG_LEVELS } from './vocabulary.ts'

export const EVENT_KINDS = ['status', 'command', 'shadow', 'ota', 'alert'] as const

export const LogQuery = Type.Object(
  {
    ...CURSOR_QUERY,
    level: words(LOG_LEVELS, `Of: ${LOG_LEVELS.join(', ')}; several with commas between them`),
  },
  { additionalProperties: false },
)
export const EventQuery = Type.Object(
  {
    ...CURSOR_QUERY,
    kind: words(EVENT_KINDS, `Of: ${EVENT_KINDS.join(', ')}; several with commas between them`),
  },
  { additionalProperties: false },
)

const FLEET_QUERY = {
  ...CURSOR_QUERY,
  group: Type.Optional(Group),
  device_id: Type.Optional(Type.String({ maxLength: 64, examples: ['robot-7'] })),
}
export const FleetLogQuery = Type.Object(
  {
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
  },
  { additionalProperties: false },
)
export const FleetEventQuery = Type.Object(
  { ...FLEET_QUERY, kind: EventQuery.properties.kind },
  { additionalProperties: false },
)

const LOG_FIELDS = {
  timestamp: Instant,
  level: choice(LOG_LEVELS, { examples: ['warn'] }),
  message: Type.String({ examples: ['wheel 2 slips'] }),
  logger: orNull(Type.String(), { examples: ['drive'] }),
  fields: FreeObject,
}
export const LogBody = Type.Object(LOG_FIELDS, { title: 'LogEntry' })
const DeviceId = Type.String({ examples: ['robot-7'] })
const FLEET_PAGE =
  'Newest first. A page may hold fewer entries than asked for, even none: go on while there is a `next_cursor`.'
export const FleetLogPage = Type.Object(
  {
    data: Type.Array(Type.Object({ device_id: DeviceId, ...LOG_FIELDS }, { title: 'FleetLogEntry' })),
    next_cursor: NextCursor,
  },
  { title: 'FleetLogPage', description: FLEET_PAGE },
)
export const LogPage = Type.Object(
  { device_id: Type.String({ examples: ['robot-7'] }), data: Type.Array(LogBody), next_cursor: NextCursor },
  { title: 'LogPage', description: 'Newest first.' },
)

const EVENT_FIELDS = { timestamp: Instant, kind: choice(EVENT_KINDS), data: FreeObject }
export const FleetEventPage = Type.Object(
  {
    data: Type.Array(Type.Object({ device_id: DeviceId, ...EVENT_FIELDS }, { title: 'FleetTimelineEvent' })),
    next_cursor: NextCursor,
  },
  { title: 'FleetEventPage', description: FLEET_PAGE },
)
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
export const EventPage = Type.Object(
  { device_id: Type.String({ examples: ['robot-7'] }), data: Type.Array(EventBody), next_cursor: NextCursor },
  { title: 'EventPage', description: 'Newest first.' },
)
