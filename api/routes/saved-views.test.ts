import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { openHarness } from '../testing/rest.ts'

const VIEWS = '/api/v1/views'
const WISH = { name: 'Lost in the north', path: '/devices', query: 'q=status:offline%20group:north' }

async function openPeople() {
  const harness = openHarness()
  const [ada, bob, admin] = [
    await harness.login('operator'),
    await harness.login('viewer'),
    await harness.login('admin'),
  ]
  const create = async (token: string, more: object = {}) =>
    (await harness.request(`POST ${VIEWS}`, { token, body: { ...WISH, ...more } })).body
  const names = async (token: string) =>
    (await harness.request(`GET ${VIEWS}`, { token })).body.data.map(({ name }: { name: string }) => name)
  return { ...harness, ada, bob, admin, create, names }
}

describe('saved views', () => {
  test('a view is stored as it was sent, and the answer has its Location', async () => {
    const { ada, request } = await openPeople()
    const made = await request(`POST ${VIEWS}`, { token: ada.token, body: WISH })
    expect(made.body).toMatchObject({ ...WISH, shared: false, owner: ada.user.id, etag: '"1"' })
    expect(made.headers['location']).toBe(`${VIEWS}/${made.body.view_id}`)
    const read = await request(`GET ${VIEWS}/${made.body.view_id}`, { token: ada.token })
    expect(read.body).toEqual(made.body)
  })

  test('others see a view only while it is shared, and an admin sees no personal one', async () => {
    const { ada, bob, admin, create, names, request } = await openPeople()
    const { view_id: id } = await create(ada.token)
    expect([await names(bob.token), await names(admin.token)]).toEqual([[], []])
    expect((await request(`GET ${VIEWS}/${id}`, { token: bob.token })).status).toBe(404)
    await request(`PATCH ${VIEWS}/${id}`, { token: ada.token, body: { shared: true } })
    expect(await names(bob.token)).toEqual([WISH.name])
    expect((await request(`GET ${VIEWS}/${id}`, { token: bob.token })).status).toBe(200)
  })

  test('only its owner changes a view; an admin may delete a shared one', async () => {
    const { ada, bob, admin, create, request, names } = await openPeople()
    const { view_id: id } = await create(ada.token, { shared: true })
    for (const { token } of [bob, admin])
      expect((await request(`PATCH ${VIEWS}/${id}`, { token, body: { name: 'x' } })).status).toBe(403)
    expect((await request(`DELETE ${VIEWS}/${id}`, { token: bob.token })).status).toBe(403)
    expect((await request(`DELETE ${VIEWS}/${id}`, { token: admin.token })).status).toBe(204)
    expect(await names(ada.token)).toEqual([])
  })

  test('a change based on an outdated version is refused', async () => {
    const { ada, create, request, clock } = await openPeople()
    const { view_id: id, etag } = await create(ada.token)
    const edit = (name: string) =>
      request(`PATCH ${VIEWS}/${id}`, { token: ada.token, body: { name }, headers: { 'if-match': etag } })
    clock.at += 1_000
    const first = await edit('first')
    expect(first.body).toMatchObject({ name: 'first', etag: '"2"' })
    expect(Date.parse(first.body.updated_at) - Date.parse(first.body.created_at)).toBe(1_000)
    expect((await edit('second')).body.code).toBe('PRECONDITION_FAILED')
    expect((await request(`GET ${VIEWS}/${id}`, { token: ada.token })).body.name).toBe('first')
  })

  test('a user may save a limited number of views, whatever others save', async () => {
    const { ada, bob, create } = await openPeople()
    for (let i = 0; i < LIMITS.viewsPerUserMax; i++) await create(ada.token)
    expect(await create(ada.token)).toMatchObject({ code: 'LIMIT_REACHED', limit: LIMITS.viewsPerUserMax })
    expect(await create(bob.token)).toMatchObject({ owner: bob.user.id })
  })

  test('views that lead elsewhere are refused', async () => {
    const { ada, create } = await openPeople()
    for (const path of ['devices', 'https://evil.example', '/a b', 'javascript:x'])
      expect(await create(ada.token, { path })).toMatchObject({ code: 'VALIDATION_FAILED' })
  })

  test('the views of a deleted user are deleted, except for shared ones', async () => {
    const { ada, admin, create, request, engine } = await openPeople()
    await create(ada.token)
    await create(ada.token, { name: 'for all', shared: true })
    await request('PUT /api/v1/auth/me/preferences', { token: ada.token, body: { a: 1 } })
    await request(`DELETE /api/v1/users/${ada.user.id}`, { token: admin.token })
    expect(engine.users.listViews().map(({ name }) => name)).toEqual(['for all'])
    expect(engine.users.getPreferences(ada.user.id)).toBeUndefined()
  })
})

describe('preferences', () => {
  const PATH = '/api/v1/auth/me/preferences'

  test('preferences are the user’s own and replaced as a whole', async () => {
    const { ada, bob, request } = await openPeople()
    expect((await request(`GET ${PATH}`, { token: ada.token })).body).toEqual({})
    await request(`PUT ${PATH}`, { token: ada.token, body: { theme: 'dark', columns: ['name'] } })
    await request(`PUT ${PATH}`, { token: ada.token, body: { theme: 'light' } })
    expect((await request(`GET ${PATH}`, { token: ada.token })).body).toEqual({ theme: 'light' })
    expect((await request(`GET ${PATH}`, { token: bob.token })).body).toEqual({})
  })

  test('preferences above 16 KiB are refused, and an API key has none', async () => {
    const { ada, admin, request } = await openPeople()
    const put = (chars: number) =>
      request(`PUT ${PATH}`, { token: ada.token, body: { a: 'x'.repeat(chars) } })
    expect((await put(16_384 - 8)).status).toBe(200)
    expect((await put(16_384 - 7)).body).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', limit: 16_384 })
    const body = { name: 'x', role: 'viewer' }
    const { body: key } = await request('POST /api/v1/api-keys', { token: admin.token, body })
    expect((await request(`GET ${PATH}`, { token: key.api_key })).status).toBe(403)
  })
})
