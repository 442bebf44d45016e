import { expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { openHarness } from '../testing/rest.ts'
import { splitTicket, withTicket } from './download-address.ts'

const PATH = '/api/v1/devices/export?format=csv'

async function openTicket(path = PATH) {
  const harness = openHarness()
  const { user, token } = await harness.login('viewer')
  await harness.device('robot-7')
  const issue = async (asked = path) =>
    (await harness.request('POST /api/v1/auth/download-ticket', { token, body: { path: asked } })).body
  return { ...harness, user, token, issue }
}

test('a ticket downloads its file once, without a token', async () => {
  const { issue, request } = await openTicket()
  const { url, expires_in: sec } = await issue()
  expect([url.startsWith(`${PATH}&ticket=dl_`), sec]).toEqual([true, LIMITS.ticketMs / 1000])
  const file = await request(`GET ${url}`)
  expect([file.status, file.headers['content-disposition']]).toEqual([
    200,
    expect.stringContaining('attachment'),
  ])
  expect(file.text).toContain('robot-7')
  expect(await request(`GET ${url}`)).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
})

test('a ticket is valid only for its exact address, and using it at another one does not consume it', async () => {
  const { issue, request } = await openTicket()
  const { url } = await issue()
  const { ticket = '' } = splitTicket(url)
  for (const other of ['/api/v1/devices/export?format=ndjson', '/api/v1/devices', '/api/v1/auth/me'])
    expect((await request(`GET ${withTicket(other, ticket)}`)).status).toBe(401)
  expect((await request(`GET ${url}`)).status).toBe(200)
})

test.each(["?q=O'Brien", '?q="7"', '?q=<7>', '?q=7#files'])(
  'a browser may follow the address for %s, in which it encodes some characters',
  async (rest) => {
    const { issue, request } = await openTicket()
    const { url } = await issue(`/api/v1/devices/export${rest}`)
    const { pathname, search } = new URL(url, 'https://fleet.example.com')
    expect((await request(`GET ${pathname}${search}`)).status).toBe(200)
  },
)

test('a ticket expires, and ends when its user loses the right', async () => {
  const { issue, request, clock, engine, user } = await openTicket()
  const [late, { url }] = [await issue(), await issue()]
  await engine.users.put({ ...user, disabled: true })
  expect((await request(`GET ${url}`)).status).toBe(401)
  await engine.users.put(user)
  clock.at += LIMITS.ticketMs
  expect((await request(`GET ${late.url}`)).status).toBe(401)
})

test('tickets are issued only for files', async () => {
  const { issue } = await openTicket()
  for (const path of ['/api/v1/auth/me', '/api/v1/nothing', '/api/v1/devices/robot-7'])
    expect(await issue(path)).toMatchObject({ code: 'VALIDATION_FAILED' })
  expect(await issue('//evil.example/api/v1/devices/export')).toMatchObject({ code: 'VALIDATION_FAILED' })
})

test('a ticket of /ws downloads nothing', async () => {
  const { request, token } = await openTicket()
  const { body } = await request('POST /api/v1/auth/ws-ticket', { token })
  expect((await request(`GET ${withTicket(PATH, body.ticket)}`)).status).toBe(401)
})
