// Lists in pages: the query and the envelope every list shares.
import { type TSchema, Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'

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

export const pageOf = <T extends TSchema>(item: T, title: string) =>
  Type.Object(
    {
      data: Type.Array(item),
      ...PAGE_FIELDS,
    },
    { title },
  )
