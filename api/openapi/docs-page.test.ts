import { createHash } from 'node:crypto'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { OPERATIONS } from '../../schemas/operations/all.ts'
import { openHarness } from '../testing/rest.ts'
import { DOCS_SCRIPT } from './docs-script.ts'

async function docs() {
  const { text, headers } = await openHarness().request('GET /docs')
  return { text, policy: String(headers['content-security-policy']) }
}

describe('the page at /docs', () => {
  test('the page loads nothing from elsewhere, and its policy allows only its own style and script', async () => {
    const { text, policy } = await docs()
    expect(text).not.toMatch(/\s(src|srcset)=|@import|url\(|href="(?!\/|#)|\son\w+=|\sstyle=/)
    const inline = (tag: string) => [...text.matchAll(new RegExp(`<${tag}>([^]*?)</${tag}>`, 'g'))]
    for (const tag of ['style', 'script']) {
      const [[, content = ''] = [], ...more] = inline(tag)
      expect(more).toEqual([])
      const hash = createHash('sha256').update(content).digest('base64')
      expect(policy).toContain(`${tag}-src 'sha256-${hash}'`)
    }
    expect(policy).toMatch(/^default-src 'none';/)
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
  })

  test('the page shows every operation with its answers and a form to try it', async () => {
    const { text } = await docs()
    for (const { operationId, path, method } of Object.values(OPERATIONS)) {
      expect(text).toContain(`<details class="operation" id="${operationId}"`)
      expect(text).toContain(`<form data-method="${method}" data-path="${path}"`)
    }
    expect(text).toContain(
      '<a href="/problems/device-shadow-conflict"><code>DEVICE_SHADOW_CONFLICT</code></a>',
    )
    const ids = new Set(Array.from(text.matchAll(/ id="([^"]+)"/g), ([, id]) => id))
    for (const [, id] of text.matchAll(/ href="#([^"]+)"/g)) expect(ids).toContain(id)
  })

  test('the page sends the request of its form', async () => {
    const field = (name: string, value: string, place?: string) => ({ name, value, dataset: { in: place } })
    const fields = [
      field('device_id', 'a b', 'path'),
      field('tag', 'x\ny', 'query'),
      field('q', '', 'query'),
      field('If-Match', '"7"', 'header'),
      field('body', '{"a":1}'),
    ]
    const elements = Object.assign(fields, {
      namedItem: (name: string) => fields.find((f) => f.name === name),
    })
    const output = { textContent: '' }
    let submit: (event: { preventDefault(): void }) => Promise<void> = async () => undefined
    const form = {
      dataset: { method: 'PUT', path: '/d/{device_id}', type: 'application/json' },
      elements,
      querySelector: () => output,
      addEventListener: (_: string, listener: typeof submit) => {
        submit = listener
      },
    }
    const asked: { url: string; init: RequestInit }[] = []
    runInNewContext(DOCS_SCRIPT, {
      URLSearchParams,
      Headers,
      addEventListener: () => undefined,
      location: { hash: '' },
      document: {
        forms: [form],
        querySelectorAll: () => [],
        getElementById: () => ({ value: ' token ', addEventListener: () => undefined }),
      },
      fetch: async (url: string, init: RequestInit) => {
        asked.push({ url, init })
        return new Response('{"ok":true}', { status: 201, headers: { etag: '"8"' } })
      },
    })
    await submit({ preventDefault: () => undefined })
    const [{ url, init } = { url: '', init: {} }] = asked
    expect([url, init.method, init.body]).toEqual(['/d/a%20b?tag=x&tag=y', 'PUT', '{"a":1}'])
    expect(Object.fromEntries(new Headers(init.headers))).toEqual({
      authorization: 'Bearer token',
      'content-type': 'application/json',
      'if-match': '"7"',
    })
    expect(output.textContent).toMatch(/^201 [\s\S]*etag: "8"[\s\S]*\n\n\{\n {2}"ok": true\n\}$/)
  })
})
