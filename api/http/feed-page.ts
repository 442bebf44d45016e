// One page of a list that only grows, requested by its number (with the total) or by the cursor of the previous page.

import type { HistoryPlace } from '../../engine/ports/history.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { type Refusal, refused } from '../refusal.ts'
import { type Answer, answer } from './answer.ts'
import { nextLink, parseCursor, toCursor } from './cursor.ts'
import { pageBody, pageHeaders, toWindow } from './paging.ts'

interface CursorQuery {
  readonly cursor?: string | undefined
  readonly limit?: number | undefined
}

interface FeedQuery extends CursorQuery {
  readonly page?: number
  readonly per_page?: number
}

interface PageWindow {
  readonly before?: HistoryPlace | undefined
  readonly offset?: number
  readonly limit: number
}

type ReadWindow<Row> = (wanted: PageWindow) => Promise<readonly Row[]>

interface Feed<Row> {
  readonly read: ReadWindow<Row>
  readonly count: () => Promise<number>
  readonly toBody: (row: Row) => object
}

interface CursorPage<Row> {
  readonly kind: 'page'
  readonly rows: readonly Row[]
  readonly next: string | null
  readonly headers: Readonly<Record<string, string>>
}

export async function cursorPage<Row extends HistoryPlace>(
  { cursor, limit = BODY_LIMITS.perPageDefault }: CursorQuery,
  url: string,
  read: ReadWindow<Row>,
): Promise<CursorPage<Row> | Refusal> {
  const before = cursor === undefined ? undefined : parseCursor(cursor)
  if (cursor !== undefined && before === undefined)
    return refused('BAD_REQUEST', { message: 'cursor: must be the `next_cursor` of an earlier answer' })
  // Reads one row more than requested, which shows whether there is another page.
  const found = await read({ before, limit: limit + 1 })
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  const next = found.length > limit && last !== undefined ? toCursor(last) : null
  return { kind: 'page', rows, next, headers: next === null ? {} : { link: nextLink(url, next) } }
}

/** Answers with a numbered page unless the query has a cursor or a limit. */
export async function feedAnswer<Row extends HistoryPlace>(
  query: FeedQuery,
  url: string,
  { read, count, toBody }: Feed<Row>,
): Promise<Answer | Refusal> {
  const { cursor, limit = cursor === undefined ? undefined : query.per_page } = query
  if (limit !== undefined) {
    const page = await cursorPage({ cursor, limit }, url, read)
    if (page.kind === 'refused') return page
    return answer(200, { data: page.rows.map(toBody), next_cursor: page.next }, page.headers)
  }
  const window = toWindow(query)
  const [rows, total] = await Promise.all([read({ offset: window.offset, limit: window.perPage }), count()])
  const last = rows.at(-1)
  const next = window.offset + rows.length < total && last !== undefined ? toCursor(last) : null
  const body = { ...pageBody(rows.map(toBody), total, window), next_cursor: next }
  return answer(200, body, pageHeaders(total, window, url))
}
