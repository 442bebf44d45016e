// Bodies of /views and /auth/me/preferences: what users save in the dashboard.
import { type Static, Type } from 'typebox'
import { PersonName } from './auth.ts'
import { BODY_LIMITS } from './body-limits.ts'
import type { JsonObject } from './json.ts'
import { closed, Instant, object } from './json-schema.ts'
import { PAGE_QUERY, pageOf } from './page.ts'

const WISH = {
  name: PersonName,
  path: Type.String({
    pattern: '^/[!-~]*$',
    maxLength: BODY_LIMITS.viewPathCharsMax,
    description: 'The path of a page of the dashboard.',
    examples: ['/devices'],
  }),
  query: Type.String({
    pattern: '^[!-~]*$',
    maxLength: BODY_LIMITS.viewQueryCharsMax,
    description: 'Its query, without the `?`.',
    examples: ['q=status:offline&sort=name'],
  }),
  shared: Type.Boolean({ description: 'Everybody sees it. It gives nobody a right.', examples: [false] }),
}

export const NewViewBody = closed('NewViewBody', {
  name: WISH.name,
  path: WISH.path,
  query: Type.Optional(Type.String({ ...WISH.query, default: '' })),
  shared: Type.Optional(Type.Boolean({ ...WISH.shared, default: false })),
})
export const EditViewBody = Type.Partial(Type.Object(WISH), {
  title: 'EditViewBody',
  additionalProperties: false,
  minProperties: 1,
})

export const ViewBody = object('View', {
  view_id: Type.String({ examples: ['vw_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  ...WISH,
  owner: Type.String({ examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  created_at: Instant,
  updated_at: Instant,
  etag: Type.String({ examples: ['"1"'] }),
})
export type ViewBody = Static<typeof ViewBody>

export const ViewParams = closed({
  view_id: Type.String({ minLength: 1, maxLength: 64, examples: ['vw_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
})
export const ViewListQuery = closed(PAGE_QUERY)
export const ViewPage = pageOf(ViewBody, 'ViewPage')

/** Any object. Only the pages of the dashboard interpret it. */
export const Preferences = Type.Unsafe<JsonObject>({
  title: 'Preferences',
  type: 'object',
  description: 'Free, up to 16 KiB.',
  examples: [{ theme: 'dark', density: 'compact' }],
})
