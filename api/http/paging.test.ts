import { expect, test } from 'vitest'
import { nextLink } from './cursor.ts'
import { pageHeaders, toWindow } from './paging.ts'

// [RFC 3986 3.4] A query may contain question marks.
const URL = '/api/v1/devices?q=why?&status=online'

test('links to other pages keep all filters, also behind a question mark', () => {
  const { link } = pageHeaders(3, toWindow({ page: 1, per_page: 2 }), URL)
  expect(link).toContain('</api/v1/devices?q=why%3F&status=online&per_page=2&page=2>; rel="next"')
  expect(nextLink(URL, 'x')).toBe('</api/v1/devices?q=why%3F&status=online&cursor=x>; rel="next"')
})

test('links of a list without a query have the page alone', () => {
  const { link } = pageHeaders(1, toWindow({}), '/api/v1/devices')
  expect(link).toBe(
    '</api/v1/devices?per_page=50&page=1>; rel="first", </api/v1/devices?per_page=50&page=1>; rel="last"',
  )
})
