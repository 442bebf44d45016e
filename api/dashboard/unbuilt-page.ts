// The page in the place of a dashboard that is not there.
import type { PageAnswer } from '../http/pages.ts'
import type { ReadAssets } from './assets.ts'

const WHY = {
  missing: 'It has not been built. Run <code>npm run build</code>, and start the service again.',
  too_large: 'Its files are larger than the service holds. Build it anew with <code>npm run build</code>.',
} as const

export function unbuiltPage({ kind }: Exclude<ReadAssets, { readonly kind: 'assets' }>): PageAnswer {
  const text = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Fleet</title>
<h1>The dashboard is not here</h1><p>${WHY[kind]}</p><p>The REST API works without it: see <a href="/docs">/docs</a>.</p></html>`
  return {
    status: 503,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' },
    bytes: Buffer.from(text),
  }
}
