// Bodies of /shadows.
import { Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import type { JsonObject } from './json.ts'
import { choice, Instant, instantText, orNull } from './json-schema.ts'
import { FEED_QUERY, feedPageOf } from './page.ts'

const SECTIONS = ['desired', 'reported'] as const
const ACTORS = ['user', 'device', 'system', 'ota'] as const

const Leaves = Type.Unsafe<Readonly<Record<string, { readonly timestamp: string }>>>({
  type: 'object',
  additionalProperties: Type.Object({ timestamp: Instant }),
  description: 'By the dotted name of each leaf',
  examples: [{ report_interval_sec: { timestamp: '2026-03-01T08:30:00.000Z' } }],
})
const Version = Type.Integer({
  minimum: 0,
  description: '+1 per change of either side; 0 before the first',
  examples: [7],
})

/** It has a title because client generators would make up one, which clashes with that of another schema. */
const State = Type.Unsafe<JsonObject>({
  type: 'object',
  title: 'ShadowState',
  examples: [{ report_interval_sec: 5 }],
})

export const ShadowBody = Type.Object(
  {
    device_id: Type.String({ examples: ['robot-7'] }),
    version: Version,
    desired: State,
    reported: State,
    delta: State,
    metadata: Type.Object({ desired: Leaves, reported: Leaves }),
    in_sync: Type.Boolean(),
    updated_at: orNull(Instant, { examples: ['2026-03-01T08:30:00.000Z'] }),
  },
  { title: 'Shadow', description: '`delta` is what of the desired state the reported state has otherwise.' },
)

export const DesiredBody = Type.Unsafe<JsonObject>({
  type: 'object',
  title: 'DesiredState',
  description: `A JSON merge patch (RFC 7396) of the desired state, or with \`mode=replace\` all of it. Keys have 1 to ${BODY_LIMITS.shadowKeyCharsMax} characters; ${BODY_LIMITS.shadowDepthMax} levels and ${BODY_LIMITS.shadowSideBytesMax} bytes at most.`,
  examples: [{ report_interval_sec: 5 }],
})

export const DesiredQuery = Type.Object(
  {
    mode: Type.Optional(
      choice(['merge', 'replace'], {
        default: 'merge',
        description: '`replace` removes what the body does not name',
      }),
    ),
  },
  { additionalProperties: false },
)

export const DeltaBody = Type.Object(
  {
    device_id: Type.String({ examples: ['robot-7'] }),
    version: Version,
    delta: State,
    metadata: Leaves,
  },
  { title: 'ShadowDelta' },
)

export const ShadowHistoryQuery = Type.Object(
  {
    ...FEED_QUERY,
    section: Type.Optional(choice(SECTIONS)),
    from: Type.Optional(instantText('this instant included')),
    to: Type.Optional(instantText('not included')),
  },
  { additionalProperties: false },
)

const ShadowEntry = Type.Object(
  {
    version: Type.Integer({ minimum: 1, examples: [7] }),
    timestamp: Instant,
    section: choice(SECTIONS),
    actor: Type.Object({
      type: choice(ACTORS),
      id: Type.String({ examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
    }),
    patch: Type.Unsafe<Readonly<Record<string, unknown>>>({
      type: 'object',
      description: 'What took effect, as a merge patch',
      examples: [{ report_interval_sec: 5 }],
    }),
    previous: Type.Unsafe<Readonly<Record<string, unknown>>>({
      type: 'object',
      description: 'The merge patch that takes it back',
      examples: [{ report_interval_sec: 30 }],
    }),
    request_id: orNull(Type.String()),
  },
  { title: 'ShadowHistoryEntry' },
)
export const ShadowHistoryPage = feedPageOf(ShadowEntry, 'ShadowHistoryPage')
