// Reading paginated lists up to a limit.
import { wholeNumber } from './option-parsers.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 1_000_000
const PAGE_MAX = 200

export const LIMIT_OPTION = [
  '--limit <count>',
  'maximum number of results',
  wholeNumber(1, LIMIT_MAX),
  LIMIT_DEFAULT,
] as const

/** The page size to request for a given limit. */
export const pageSize = (limit: number): number => Math.min(limit, PAGE_MAX)

/** Lists have either a total or a cursor. */
interface Page<Item> {
  readonly data: readonly Item[]
  readonly total?: number
  readonly next_cursor?: string | null
}

export type Pages<Item> = AsyncIterable<Page<Item>>

export async function take<Item>(
  pages: Pages<Item>,
  limit: number,
  onPage: (count: number) => void,
): Promise<{ readonly items: readonly Item[]; readonly hasMore: boolean }> {
  const items: Item[] = []
  for await (const { data, total, next_cursor: next = null } of pages) {
    items.push(...data)
    onPage(items.length)
    if (items.length < limit) continue
    const hasMore = items.length > limit || next !== null || (total ?? 0) > items.length
    return { items: items.slice(0, limit), hasMore }
  }
  return { items, hasMore: false }
}
