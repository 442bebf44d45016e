// Bodies of the audit: who did what, when, and what came of it.
import { type Static, Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import type { JsonObject } from './json.ts'
import { choice, Instant, instantText, orNull } from './json-schema.ts'
import { FEED_QUERY, feedPageOf } from './page.ts'

/** `anonymous`: who it was is not known, or only claimed. */
export const ACTOR_TYPES = ['user', 'api_key', 'device', 'anonymous'] as const
/** `failed`: neither done nor refused; the service could not. */
export const AUDIT_OUTCOMES = ['success', 'refused', 'failed'] as const

export const AuditEntry = Type.Object(
  {
    id: Type.String({ examples: ['aud_hk2n9w5p8c'] }),
    at: Instant,
    actor: Type.Object(
      {
        type: choice(ACTOR_TYPES),
        id: orNull(Type.String(), { examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
        name: orNull(Type.String(), {
          description: 'The e-mail of a user, the name of an API key',
          examples: ['ada@example.com'],
        }),
      },
      { title: 'AuditActor' },
    ),
    action: Type.String({
      description:
        'The operationId of a REST call; `mqtt.connect`, `mqtt.access`, `mqtt.message` of a device',
      examples: ['registerDevice'],
    }),
    target: orNull(Type.String(), {
      description: 'What it was done to, as a path',
      examples: ['devices/robot-7'],
    }),
    device_id: orNull(Type.String(), { examples: ['robot-7'] }),
    outcome: choice(AUDIT_OUTCOMES),
    code: orNull(Type.String({ description: 'Why it was refused' })),
    request_id: orNull(Type.String(), { examples: ['req_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
    ip: orNull(Type.String(), { examples: ['10.0.4.2'] }),
    count: Type.Integer({
      minimum: 1,
      description: 'How often, where refusals of one kind within a minute are one entry',
    }),
    detail: Type.Unsafe<JsonObject>({
      type: 'object',
      examples: [{ fields: ['device_id', 'name', 'type'] }],
    }),
  },
  { title: 'AuditEntry', description: 'Field names of what was sent, never its values.' },
)
export type AuditEntry = Static<typeof AuditEntry>

const filter = (description: string, example: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: BODY_LIMITS.auditFilterCharsMax,
      description,
      examples: [example],
    }),
  )

export const AuditQuery = Type.Object(
  {
    ...FEED_QUERY,
    from: Type.Optional(instantText('this instant included')),
    to: Type.Optional(instantText('this instant not included')),
    actor: filter('Who: the id, or the e-mail of a user', 'a@example.com'),
    action: filter('What: an operationId', 'registerDevice'),
    target: filter('To what: a path', 'devices/robot-7'),
    device_id: filter('All that is about a device', 'robot-7'),
    outcome: Type.Optional(choice(AUDIT_OUTCOMES)),
    ip: filter('From where', '127.0.0.1'),
  },
  { additionalProperties: false },
)

export const AuditPage = feedPageOf(AuditEntry, 'AuditPage')
