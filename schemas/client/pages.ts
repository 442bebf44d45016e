// Reads a list page by page: by number, or by the cursor of the previous page.
import type { Call } from './request.ts'

/** The fields of both envelopes of a list. */
interface Page {
  readonly page?: number
  readonly total_pages?: number
  readonly next_cursor?: string | null
}

export async function* pagesOf(
  ask: (call: Call) => Promise<unknown>,
  call: Call = {},
): AsyncGenerator<unknown, void, undefined> {
  let place: object = {}
  for (;;) {
    // The client's types allow only operations that answer with a page.
    const page = (await ask({ ...call, query: { ...toObject(call['query']), ...place } })) as Page
    yield page
    const next = nextPlace(page)
    if (next === undefined) return
    place = next
  }
}

function nextPlace({ page, total_pages: pages, next_cursor: cursor }: Page): object | undefined {
  if (typeof cursor === 'string') return { cursor }
  return page !== undefined && pages !== undefined && page < pages ? { page: page + 1 } : undefined
}

const toObject = (value: unknown): object => (typeof value === 'object' && value !== null ? value : {})
