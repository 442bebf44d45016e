// The envelope and headers of a page of a list.
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { type Answer, answer } from './answer.ts'
import { pathOf, queryOf } from './problems.ts'

interface PageQuery {
  readonly page?: number | undefined
  readonly per_page?: number | undefined
}

export interface Window {
  readonly page: number
  readonly perPage: number
  readonly offset: number
}

export function toWindow({ page = 1, per_page: perPage = BODY_LIMITS.perPageDefault }: PageQuery): Window {
  return { page, perPage, offset: (page - 1) * perPage }
}

/** `url` is the URL of the request. Links to other pages keep its filters. */
export function pageAnswer(data: readonly unknown[], total: number, window: Window, url: string): Answer {
  return answer(200, pageBody(data, total, window), pageHeaders(total, window, url))
}

export function pageBody(data: readonly unknown[], total: number, window: Window) {
  const { page, perPage } = window
  return { data, page, per_page: perPage, total, total_pages: pagesOf(total, window) }
}

export function pageHeaders(total: number, window: Window, url: string): Readonly<Record<string, string>> {
  return { 'x-total-count': String(total), link: links(url, window, pagesOf(total, window)) }
}

const pagesOf = (total: number, { perPage }: Window) => Math.ceil(total / perPage)

/** [RFC 8288] Links are relative, so the service need not know its public name. */
function links(url: string, { page, perPage }: Window, pages: number): string {
  const last = Math.max(1, pages)
  const wanted: readonly (readonly [string, number])[] = [
    ['first', 1],
    ...(page > 1 ? ([['prev', Math.min(page - 1, last)]] as const) : []),
    ...(page < last ? ([['next', page + 1]] as const) : []),
    ['last', last],
  ]
  const query = new URLSearchParams(queryOf(url))
  query.set('per_page', String(perPage))
  return wanted
    .map(([rel, number]) => {
      query.set('page', String(number))
      return `<${pathOf(url)}?${query.toString()}>; rel="${rel}"`
    })
    .join(', ')
}
