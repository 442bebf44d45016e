// The page at /docs: every operation of the OpenAPI.
import type { Operation } from '../../schemas/operation.ts'
import { problemPath, type RefusalCode } from '../../schemas/refusals.ts'
import { refusalsOf } from './openapi.ts'
import { escaped, page } from './page.ts'

export function docsPage(routes: readonly Operation[], version: string): string {
  const tags = [...new Set(routes.map(({ tag }) => tag))]
  const sections = tags.map((tag) => {
    const operations = routes.filter((route) => route.tag === tag).map(operation)
    return `<h2>${escaped(tag)}</h2>${operations.join('')}`
  })
  return page(
    `Fleet API ${version}`,
    `<p>The same as <a href="/api/v1/openapi.json">OpenAPI 3.1</a>. Get a token from <code>POST /api/v1/auth/login</code> and send it as <code>Authorization: Bearer …</code>. <a href="/problems">What its problems mean.</a></p>${sections.join('')}`,
  )
}

function operation(route: Operation): string {
  const who = route.access === 'public' ? 'anyone' : route.access.join(', ')
  const statuses = Object.keys(route.replies).join(', ')
  const part = (name: string, schema: unknown) =>
    schema === undefined
      ? ''
      : `<dt>${name}</dt><dd><pre>${escaped(JSON.stringify(schema, null, 2))}</pre></dd>`
  return `<details id="${escaped(route.operationId)}"><summary><span class="m">${route.method}</span><code>${escaped(route.path)}</code> ${escaped(route.summary)}</summary>
<dl><dt>Who</dt><dd>${escaped(who)}</dd><dt>Answers</dt><dd>${statuses}</dd><dt>Refusals</dt><dd>${refusalsOf(route).map(link).join(', ') || 'none'}</dd>${part('Query', route.query)}${part('Body', route.body)}</dl></details>`
}

const link = (code: RefusalCode) => `<a href="${problemPath(code)}">${code}</a>`
