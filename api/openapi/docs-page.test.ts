import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { openHarness } from '../testing/rest.ts'

test('the page at /docs loads the service’s own files and nothing else, and its policy allows nothing else', async () => {
  const { text, headers } = await openHarness().request('GET /docs')
  const policy = String(headers['content-security-policy'])
  for (const [, address] of text.matchAll(/(?:src|href)="([^"]*)"/g)) expect(address).toMatch(/^\//)
  expect(text).not.toMatch(/@import|url\(|\son\w+=|\sstyle=/)
  for (const tag of ['style', 'script']) {
    const [[, content = ''] = [], ...more] = text.matchAll(new RegExp(`<${tag}>([^]*?)</${tag}>`, 'g'))
    expect(more).toEqual([])
    const hash = createHash('sha256').update(content).digest('base64')
    expect(policy).toContain(`${tag}-src 'sha256-${hash}' 'self'`)
  }
  expect(policy).toMatch(/^default-src 'none';/)
  expect(policy).not.toMatch(/unsafe|\*|https?:/)
})
