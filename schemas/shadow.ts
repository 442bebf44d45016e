// Bodies of /shadows.
import { Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import type { JsonObject } from './json.ts'
import { choice, closed, Instant, instantText, object, orNull } from './json-schema.ts'
import { FEED_QUERY, feedPageOf } from './page.ts'

const SECTIONS = ['desired', 'reported'] as const
const ACTORS = ['user', 'device', 'system', 'ota'] as const

const Leaves = Type.Unsafe<Readonly<Record<string, { readonly timestamp: string }>>>({
  type: 'object',
  additionalProperties: Type.Object({ timestamp: Instant }),
  description: 'Time of the last change of each leaf, by its dotted name.',
  examples: [{ report_interval_sec: { timestamp: '2026-03-01T08:30:00.000Z' } }],
})
const Version = Type.Integer({
  minimum: 0,
  description: 'Grows by one with each change of either side. 0 before the first change.',
  examples: [7],
})

/** Without a title, client generators would invent one that clashes with that of another schema. */
const State = Type.Unsafe<JsonObject>({
  type: 'object',
  title: 'ShadowState',
  examples: [{ report_interval_sec: 5 }],
})

export const ShadowBody = object(
  'Shadow',
  '`delta` is the part of the desired state that is missing in the reported state or differs there.',
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
)

export const DesiredBody = Type.Unsafe<JsonObject>({
  type: 'object',
  title: 'DesiredState',
  description: `A JSON merge patch (RFC 7396) of the desired state, or the whole state with \`mode=replace\`. Keys have 1 to ${BODY_LIMITS.shadowKeyCharsMax} characters. At most ${BODY_LIMITS.shadowDepthMax} levels and ${BODY_LIMITS.shadowSideBytesMax} bytes.`,
  examples: [{ report_interval_sec: 5 }],
})

export const DesiredQuery = closed({
  mode: Type.Optional(
    choice(['merge', 'replace'], {
      default: 'merge',
      description: '`replace` removes everything that the body does not name.',
    }),
  ),
})

export const ShadowQuery = closed({
  at_version: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'The shadow as it was at this version. The times of the leaves of an earlier version are not known: `metadata` is then empty.',
      examples: [6],
    }),
  ),
})

export const RevertBody = closed('ShadowRevert', {
  to_version: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'The version whose desired state is wanted again.',
    examples: [6],
  }),
})

export const DeltaBody = object('ShadowDelta', {
  device_id: Type.String({ examples: ['robot-7'] }),
  version: Version,
  delta: State,
  metadata: Leaves,
})

export const ShadowHistoryQuery = closed({
  ...FEED_QUERY,
  section: Type.Optional(choice(SECTIONS)),
  from: Type.Optional(instantText('inclusive')),
  to: Type.Optional(instantText('exclusive')),
})

export const ShadowEntry = object('ShadowHistoryEntry', {
  version: Type.Integer({ minimum: 1, examples: [7] }),
  timestamp: Instant,
  section: choice(SECTIONS),
  actor: Type.Object({
    type: choice(ACTORS),
    id: Type.String({ examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  }),
  patch: Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: 'object',
    description: 'The change that took effect, as a merge patch.',
    examples: [{ report_interval_sec: 5 }],
  }),
  previous: Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: 'object',
    description: 'The merge patch that undoes the change.',
    examples: [{ report_interval_sec: 30 }],
  }),
  request_id: orNull(Type.String()),
})
export const ShadowHistoryPage = feedPageOf(ShadowEntry, 'ShadowHistoryPage')
