// Paging: the query and the envelope that all lists share.
import { type TSchema, Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import { instantText, orNull } from './json-schema.ts'

export const PAGE_QUERY = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: BODY_LIMITS.pageMax, default: 1 })),
  per_page: Type.Optional(
    Type.Integer({ minimum: 1, maximum: BODY_LIMITS.perPageMax, default: BODY_LIMITS.perPageDefault }),
  ),
}

export const PAGE_FIELDS = {
  page: Type.Integer({ minimum: 1, examples: [1] }),
  per_page: Type.Integer({ minimum: 1, examples: [50] }),
  total: Type.Integer({ minimum: 0, examples: [1] }),
  total_pages: Type.Integer({ minimum: 0, examples: [1] }),
}

export const NextCursor = orNull(
  Type.String({ description: 'Cursor of the next page, null on the last one.' }),
)

/** The query of a list that only grows, read by cursor and time. */
export const CURSOR_QUERY = {
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

/** The query of a list that only grows, read by page number or by cursor. */
export const FEED_QUERY = {
  ...PAGE_QUERY,
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: BODY_LIMITS.perPageMax,
      description:
        'Page size for paging by cursor, instead of `page` and `per_page`. The answer has no total.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: BODY_LIMITS.cursorCharsMax,
      description: '`next_cursor` of the previous page, instead of `page`.',
    }),
  ),
}

export const feedPageOf = <T extends TSchema>(item: T, title: string) =>
  Type.Object(
    {
      data: Type.Array(item),
      next_cursor: NextCursor,
      page: Type.Optional(Type.Integer({ minimum: 1 })),
      per_page: Type.Optional(Type.Integer({ minimum: 1 })),
      total: Type.Optional(Type.Integer({ minimum: 0 })),
      total_pages: Type.Optional(Type.Integer({ minimum: 0 })),
    },
    { title, description: 'Newest first. Paging by cursor leaves out page and totals.' },
  )

export const pageOf = <T extends TSchema>(item: T, title: string) =>
  Type.Object(
    {
      data: Type.Array(item),
      ...PAGE_FIELDS,
    },
    { title },
  )
