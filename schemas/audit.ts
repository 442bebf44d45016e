// Bodies of the audit: who did what and when, and the outcome.
import { type Static, Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import type { JsonObject } from './json.ts'
import { choice, closed, Instant, instantText, object, orNull } from './json-schema.ts'
import { FEED_QUERY, feedPageOf } from './page.ts'
import { AUDIT_OUTCOMES } from './vocabulary.ts'

/** `anonymous` is an unknown or unproven caller. `ota` is the service itself, acting by the rules of a deployment. */
export const ACTOR_TYPES = ['user', 'api_key', 'provisioning_key', 'device', 'anonymous', 'ota'] as const

export const AuditEntry = object(
  'AuditEntry',
  '`detail` has the names of the fields that were sent, never their values.',
  {
    id: Type.String({ examples: ['aud_hk2n9w5p8c'] }),
    at: Instant,
    actor: object('AuditActor', {
      type: choice(ACTOR_TYPES),
      id: orNull(Type.String(), { examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
      name: orNull(Type.String(), {
        description: 'E-mail of the user, or name of the API key or provisioning key.',
        examples: ['ada@example.com'],
      }),
    }),
    action: Type.String({
      description:
        'The operationId of a REST call, `mqtt.connect`, `mqtt.access` or `mqtt.message` for a device, `mqtt.token` when its credentials are about to end, or `ota.abort` or `ota.rollback` for what a deployment decided by itself.',
      examples: ['registerDevice'],
    }),
    target: orNull(Type.String(), {
      description: 'The resource that was acted on, as a path.',
      examples: ['devices/robot-7'],
    }),
    device_id: orNull(Type.String(), { examples: ['robot-7'] }),
    outcome: choice(AUDIT_OUTCOMES),
    code: orNull(Type.String({ description: 'Code of the refusal.' })),
    request_id: orNull(Type.String(), { examples: ['req_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
    ip: orNull(Type.String(), { examples: ['10.0.4.2'] }),
    count: Type.Integer({
      minimum: 1,
      description: 'Number of occurrences. Refusals of one kind within a minute share an entry.',
    }),
    detail: Type.Unsafe<JsonObject>({
      type: 'object',
      examples: [{ fields: ['device_id', 'name', 'type'] }],
    }),
  },
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

export const AuditQuery = closed({
  ...FEED_QUERY,
  from: Type.Optional(instantText('inclusive')),
  to: Type.Optional(instantText('exclusive')),
  actor: filter('Who: the id, or the e-mail of a user', 'a@example.com'),
  action: filter('What: an operationId', 'registerDevice'),
  target: filter('To what: a path', 'devices/robot-7'),
  device_id: filter('All that is about a device', 'robot-7'),
  outcome: Type.Optional(choice(AUDIT_OUTCOMES)),
  ip: filter('From where', '127.0.0.1'),
})

export const AuditPage = feedPageOf(AuditEntry, 'AuditPage')
