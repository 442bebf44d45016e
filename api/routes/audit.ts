// /audit: who did what. Newest first.
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { listAudit } from '../../schemas/operations/audit.ts'
import { answer, refused } from '../http/answer.ts'
import { nextLink, parseCursor, toCursor } from '../http/cursor.ts'
import { parseSpan } from '../http/instant.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'

export function auditRoutes({ engine }: Services): readonly Route[] {
  return [
    route(listAudit, async ({ query, url }) => {
      const range = parseSpan(query)
      if (range.kind === 'refused') return range
      const { cursor, limit = BODY_LIMITS.perPageDefault, device_id: deviceId, ...asked } = query
      const before = cursor === undefined ? undefined : parseCursor(cursor)
      if (cursor !== undefined && before === undefined)
        return refused('BAD_REQUEST', { message: 'cursor: must be the `next_cursor` of an earlier answer' })
      const { from, to } = range
      // One more than asked for tells whether there is another page.
      const rows = await engine.audit({ ...asked, deviceId, from, to, before, limit: limit + 1 })
      const shown = rows.slice(0, limit)
      const last = shown.at(-1)
      const next = rows.length > limit && last !== undefined ? toCursor(last) : null
      const body = { data: shown.map(({ body }) => body), next_cursor: next }
      return answer(200, body, next === null ? undefined : { link: nextLink(url, next) })
    }),
  ]
}
