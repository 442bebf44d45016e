// Bodies of a device's log and of its timeline.
import { Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import { choice, FreeObject, Instant, instantText, orNull } from './json-schema.ts'
import { NextCursor } from './page.ts'
import { LOG_LEVELS } from './vocabulary.ts'

export const EVENT_KINDS = ['status', 'command', 'shadow', 'ota', 'alert'] as const

/** The query of a list that only grows. */
const CURSOR_QUERY = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: BODY_LIMITS.perPageMax, default: BODY_LIMITS.perPageDefault }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: BODY_LIMITS.cursorCharsMax,
      description: '`next_cursor` of the previous page.',
    }),
  ),
  from: Type.Optional(instantText('inclusive')),
  to: Type.Optional(instantText('exclusive')),
}

/** One or several of the words, separated by commas. */
function words(allowed: readonly string[], description: string) {
  const one = `(?:${allowed.join('|')})`
  return Type.Optional(
    Type.String({ pattern: `^${one}(?:,${one})*$`, description, examples: [allowed.slice(0, 2).join(',')] }),
  )
}

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

const LogBody = Type.Object(
  {
    timestamp: Instant,
    level: choice(LOG_LEVELS, { examples: ['warn'] }),
    message: Type.String({ examples: ['wheel 2 slips'] }),
    logger: orNull(Type.String(), { examples: ['drive'] }),
    fields: FreeObject,
  },
  { title: 'LogEntry' },
)
export const LogPage = Type.Object(
  { device_id: Type.String({ examples: ['robot-7'] }), data: Type.Array(LogBody), next_cursor: NextCursor },
  { title: 'LogPage', description: 'Newest first.' },
)

const EventBody = Type.Object(
  { timestamp: Instant, kind: choice(EVENT_KINDS), data: FreeObject },
  {
    title: 'TimelineEvent',
    description: 'A status move, a step of a command, a change of the shadow, or a move of an alert.',
    examples: [
      {
        timestamp: '2026-03-01T08:30:00.000Z',
        kind: 'status',
        data: { from: 'offline', to: 'online', cause: 'heartbeat' },
      },
    ],
  },
)
export const EventPage = Type.Object(
  { device_id: Type.String({ examples: ['robot-7'] }), data: Type.Array(EventBody), next_cursor: NextCursor },
  { title: 'EventPage', description: 'Newest first.' },
)
