import { expect, test } from 'vitest'
import { openHarness } from '../testing/rest.ts'

const REPAIR = '/api/v1/telemetry/repair'

async function setUp() {
  const harness = openHarness()
  const { token } = await harness.login('admin')
  const send = (method: string, body?: object) => harness.request(`${method} ${REPAIR}`, { token, body })
  return { ...harness, send }
}

test('a repair covers the whole log or a span of it, and its progress can be read', async () => {
  const { send } = await setUp()
  expect((await send('GET')).status).toBe(404)
  const { status, body } = await send('POST')
  expect([status, body]).toMatchObject([202, { status: 'running', from: null, progress: 0, detail: null }])
  const span = { from: '2026-02-01T10:00:00Z', to: '2026-02-01 12:00' }
  const shown = { from: '2026-02-01T10:00:00.000Z', to: '2026-02-01T12:00:00.000Z' }
  expect((await send('POST', span)).body).toMatchObject(shown)
  expect((await send('GET')).body).toMatchObject(shown)
})

test('an invalid span is refused', async () => {
  const { send } = await setUp()
  for (const [body, field] of [
    [{ from: 'yesterday' }, '/from'],
    [{ to: 5 }, '/to'],
    [{ from: '2026-02-01', to: '2026-02-01' }, '/from'],
  ] as const) {
    const refused = await send('POST', body)
    expect([refused.status, refused.body.errors[0]]).toMatchObject([422, { path: field, in: 'body' }])
  }
})
