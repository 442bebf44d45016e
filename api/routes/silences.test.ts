// [contract 5.6] Silences over REST.
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { newPackr } from '../../engine/domain/packing.ts'
import { NO_SAVE } from '../../engine/ports/store.ts'
import { NOW, openHarness } from '../testing/rest.ts'

const SILENCES = '/api/v1/alerts/silences'
const ENDS = '2026-03-01T13:00:00.000Z'
const WISH = { matchers: { device_id: 'r' }, ends_at: ENDS, comment: 'rewiring' }

async function open() {
  const harness = openHarness()
  const { token, user } = await harness.login('admin')
  const operator = await harness.login('operator', { groups: ['plant'] })
  await harness.device('r', { group: 'plant/a' })
  await harness.device('s', { group: 'elsewhere' })
  const ask = async (line: string, body?: unknown, as = token) => harness.request(line, { token: as, body })
  return { ...harness, user, ask, operator: operator.token }
}

test('a silence starts now, can be changed, and ends when it is deleted', async () => {
  const { ask, user, clock } = await open()
  const made = await ask(`POST ${SILENCES}`, WISH)
  const now = new Date(clock.at).toISOString()
  const { silence_id: id } = made.body
  expect(made.headers['location']).toBe(`${SILENCES}/${id}`)
  expect(made.body).toEqual({
    ...{ ...WISH, silence_id: id, starts_at: now, created_at: now, created_by: user.id },
    ...{ windows: [], state: 'active' },
  })
  const windows = [{ days: ['sun'], start: '22:00', duration_min: 60, tz: 'Europe/Berlin' }]
  const changed = await ask(`PATCH ${SILENCES}/${id}`, { windows, comment: 'takes longer' })
  expect(changed.body).toEqual({ ...made.body, windows, comment: 'takes longer' })
  expect((await ask(`GET ${SILENCES}/${id}`)).body).toEqual(changed.body)
  clock.at += 1_000
  expect((await ask(`DELETE ${SILENCES}/${id}`)).status).toBe(204)
  const over = (await ask(`GET ${SILENCES}/${id}`)).body
  expect(over).toMatchObject({ state: 'expired', ends_at: new Date(clock.at).toISOString() })
  expect((await ask(`DELETE ${SILENCES}/${id}`)).status).toBe(204)
})

test('silences are listed by their state, the newest first', async () => {
  const { ask, clock } = await open()
  const later = { starts_at: '2026-03-01T12:30:00Z' }
  for (const wish of [WISH, { ...WISH, ...later }, { ...WISH, ends_at: '2026-03-01T12:00:10Z' }]) {
    expect((await ask(`POST ${SILENCES}`, wish)).status).toBe(201)
    clock.at += 1_000
  }
  clock.at += 10_000
  const states = async (query: string) => {
    const { data } = (await ask(`GET ${SILENCES}${query}`)).body
    return data.map(({ state }: { readonly state: string }) => state)
  }
  expect(await states('')).toEqual(['expired', 'pending', 'active'])
  expect(await states('?state=pending,active')).toEqual(['pending', 'active'])
})

test('the silences that name a device are found among those of others', async () => {
  const { ask } = await open()
  for (const matchers of [{ device_id: 'r' }, { device_id: 's' }, { group: 'plant' }])
    expect((await ask(`POST ${SILENCES}`, { ...WISH, matchers })).status).toBe(201)
  const { data, total } = (await ask(`GET ${SILENCES}?device_id=r`)).body
  expect(total).toBe(1)
  expect(data[0].matchers).toEqual({ device_id: 'r' })
})

test('when there are too many silences, the one that ended first is removed', async () => {
  const { ask, engine } = await open()
  const kept = {
    ...{ matchers: { device_id: 'r' }, windows: [], comment: 'rewiring', created_by: 'usr_x' },
    ...{ starts_at: 0, created_at: 0, revision: 1 },
  }
  const documents = Array.from({ length: 1_000 }, (_, i) => {
    const ends_at = NOW + (i === 7 || i === 8 ? -i : 60_000)
    const bytes = newPackr().pack({ ...kept, silence_id: `sil_${i}`, ends_at })
    return { collection: 'alert-silences', id: `sil_${i}`, bytes }
  })
  await engine.store.save({ ...NO_SAVE, documents })
  const made = async () => (await ask(`POST ${SILENCES}`, WISH)).status
  const isKept = async (i: number) => (await ask(`GET ${SILENCES}/sil_${i}`)).status === 200
  expect([await made(), await isKept(7), await isKept(8)]).toEqual([201, true, false])
  expect([await made(), await made()]).toEqual([201, 409])
})

test('errors are reported with their place', async () => {
  const { ask } = await open()
  const mistakes = [
    [{ matchers: {} }, '/matchers'],
    [{ matchers: { severity: ['worse'] } }, '/matchers/severity/0'],
    [{ comment: '' }, '/comment'],
    [{ ends_at: '2026-03-01T11:00:00Z' }, '/ends_at'],
    [{ ends_at: '2027-03-03T12:00:00Z' }, '/ends_at'],
    [{ starts_at: ENDS }, '/ends_at'],
    [{ windows: [{ start: '22:00', duration_min: 1_441 }] }, '/windows/0/duration_min'],
    [{ windows: [{ start: '22:00', duration_min: 60, tz: 'Mars/Olympus' }] }, '/windows/0/tz'],
  ] as const
  for (const [more, path] of mistakes) {
    const { status, body } = await ask(`POST ${SILENCES}`, { ...WISH, ...more })
    expect([status, body.code, body.errors[0].path]).toEqual([422, 'VALIDATION_FAILED', path])
  }
})

test('an operator silences only what is within their own groups, and sees no other silences', async () => {
  const { ask, operator } = await open()
  const status = async (matchers: object) =>
    (await ask(`POST ${SILENCES}`, { ...WISH, matchers }, operator)).status
  expect(await status({ group: 'plant/a' })).toBe(201)
  expect(await status({ device_id: 'r' })).toBe(201)
  expect(await status({ tag: 'picker' })).toBe(403)
  // To the operator, a device or group outside their own groups does not exist.
  expect([await status({ group: 'elsewhere' }), await status({ device_id: 's' })]).toEqual([404, 404])
  const other = await ask(`POST ${SILENCES}`, { ...WISH, matchers: { device_id: 's' } })
  const path = `${SILENCES}/${other.body.silence_id}`
  for (const line of [`GET ${path}`, `DELETE ${path}`])
    expect((await ask(line, undefined, operator)).status, line).toBe(404)
  expect((await ask(`PATCH ${path}`, { comment: 'mine' }, operator)).status).toBe(404)
  expect((await ask(`GET ${SILENCES}`, undefined, operator)).body.total).toBe(2)
})

test('two people change a silence at once, and neither change is lost', async () => {
  const { ask, engine } = await open()
  const { silence_id: id } = (await ask(`POST ${SILENCES}`, WISH)).body
  // Both requests are under way before the first change is saved.
  const save = engine.store.save.bind(engine.store)
  engine.store.save = async (...changes) => {
    for (let turn = 0; turn < 30; turn++) await setImmediate()
    return save(...changes)
  }
  const path = `${SILENCES}/${id}`
  const later = '2026-03-01T14:00:00.000Z'
  await Promise.all([ask(`PATCH ${path}`, { ends_at: later }), ask(`PATCH ${path}`, { comment: 'mine' })])
  expect((await ask(`GET ${path}`)).body).toMatchObject({ ends_at: later, comment: 'mine' })
  // A silence that was ended does not begin again because somebody changes its comment at the same time.
  const both = [ask(`DELETE ${path}`), ask(`PATCH ${path}`, { comment: 'takes longer' })]
  expect((await Promise.all(both)).map(({ status }) => status)).toEqual([204, 200])
  expect((await ask(`GET ${path}`)).body).toMatchObject({ state: 'expired', comment: 'takes longer' })
})
