import { expect, test } from 'vitest'
import { openHarness } from '../testing/rest.ts'

test('a bulk registration is charged by its rows, and a dry run costs little', async () => {
  const { login, request, clock, engine } = openHarness({ requestRates: { work: 2 } })
  const { token } = await login('admin')
  const rows = (name: string) =>
    Array.from({ length: 200 }, (_, i) =>
      JSON.stringify({ device_id: `${name}${i}`, name, type: 'simulator' }),
    ).join('\n')
  const headers = { 'content-type': 'application/x-ndjson' }
  const send = (body: string, by = token, query = '') =>
    request(`POST /api/v1/devices/bulk${query}`, { token: by, body, headers })
  for (let i = 0; i < 5; i++) expect((await send(rows('a'), token, '?dry_run=true')).status).toBe(200)
  clock.at += 5_000
  expect((await send(rows('a'))).body).toMatchObject({ created: 200 })
  const refused = await send(rows('b'))
  expect(refused.body).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', limited: 'work' })
  expect(engine.all().length).toBe(200)
  const { token: other } = await login('admin')
  expect((await send(rows('c'), other)).status).toBe(200)
  clock.at += 5_000
  expect((await send(rows('b'))).body).toMatchObject({ created: 200 })
})
