// From one page of a list to the next: by number, or by the cursor of the page before.
import type { Call } from './request.ts'

/** What the two envelopes of a list have; by the types of the client's methods. */
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
    // The types of the client let only operations through whose answer is a page.
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
