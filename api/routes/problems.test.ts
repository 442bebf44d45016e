import { expect, test } from 'vitest'
import { CONDITION_CODES, REFUSAL_CODES } from '../../schemas/refusals.ts'
import { openHarness } from '../testing/rest.ts'

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

test('the type of a problem links to its meaning and what to do', async () => {
  const { request } = openHarness()
  const { body: problem } = await request('GET /nowhere')
  const { status, body, headers } = await request(`GET ${problem.type}`)
  expect([status, body.code, body.status]).toEqual([200, 'NOT_FOUND', 404])
  expect(body.advice).toMatch(/^[A-Z`].+\.$/)
  expect(headers['vary']).toBe('accept')
})

test('every code has its own page, and all are listed', async () => {
  const { request } = openHarness()
  const { body } = await request('GET /problems')
  const kinds: readonly { code: string; type: string }[] = body.data
  expect(kinds.map(({ code }) => code)).toEqual([...REFUSAL_CODES, ...CONDITION_CODES])
  const list = await request('GET /problems', { headers: HTML })
  for (const { code, type } of kinds) {
    const { headers, text } = await request(`GET ${type}`, { headers: HTML })
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': expect.stringContaining("style-src 'sha256-"),
    })
    expect(text).toContain(`<code>${code}</code>`)
    expect(text).not.toMatch(/<script|https?:|`/)
    expect(list.text).toContain(`href="${type}"`)
  }
})

test.each(['nothing', 'NOT_FOUND', 'not_found', '__proto__', 'constructor'])(
  '%s is no problem: 404',
  async (code) => {
    const { request } = openHarness()
    expect((await request(`GET /problems/${code}`)).status).toBe(404)
  },
)

test('refusals over MQTT are in the catalogue, without a status', async () => {
  const { request } = openHarness()
  for (const name of ['mqtt-connection-refused', 'certificate-expired']) {
    const { body } = await request(`GET /problems/${name}`)
    expect([body.status, body.advice]).toEqual([null, expect.stringContaining('device')])
  }
})
