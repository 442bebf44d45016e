// The page at /docs: every operation of the OpenAPI, as plain HTML without scripts, so that it works offline.
import type { Operation } from '../../schemas/operation.ts'
import { refusalsOf } from './openapi.ts'

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
code,pre{font:13px ui-monospace,monospace}summary{cursor:pointer;padding:.3rem 0}.m{display:inline-block;width:4.5rem;font-weight:600}
pre{overflow:auto;padding:.7rem;border:1px solid #8886;border-radius:6px}dt{font-weight:600}`

/** The style is inline and so has to be allowed by the policy of this one page. */
export const DOCS_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"

export function docsPage(routes: readonly Operation[], version: string): string {
  const tags = [...new Set(routes.map(({ tag }) => tag))]
  const sections = tags.map((tag) => {
    const operations = routes.filter((route) => route.tag === tag).map(operation)
    return `<h2>${escaped(tag)}</h2>${operations.join('')}`
  })
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Fleet API</title><style>${STYLE}</style>
<h1>Fleet API ${escaped(version)}</h1><p>The same as <a href="/api/v1/openapi.json">OpenAPI 3.1</a>. Get a token from <code>POST /api/v1/auth/login</code> and send it as <code>Authorization: Bearer …</code>.</p>${sections.join('')}</html>`
}

function operation(route: Operation): string {
  const who = route.access === 'public' ? 'anyone' : route.access.join(', ')
  const statuses = Object.keys(route.replies).join(', ')
  const part = (name: string, schema: unknown) =>
    schema === undefined
      ? ''
      : `<dt>${name}</dt><dd><pre>${escaped(JSON.stringify(schema, null, 2))}</pre></dd>`
  return `<details id="${escaped(route.operationId)}"><summary><span class="m">${route.method}</span><code>${escaped(route.path)}</code> ${escaped(route.summary)}</summary>
<dl><dt>Who</dt><dd>${escaped(who)}</dd><dt>Answers</dt><dd>${statuses}</dd><dt>Refusals</dt><dd>${refusalsOf(route).join(', ') || 'none'}</dd>${part('Query', route.query)}${part('Body', route.body)}</dl></details>`
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
