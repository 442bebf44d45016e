import { expect, test } from 'vitest'
import type { Logger } from '../logger.ts'
import { openHarness } from '../testing/rest.ts'
import { silentLogger } from '../testing/silent-logger.ts'

const AUTH = '/api/v1/auth'
const ADA = { email: 'ada@example.com', password: 'correct horse', name: 'Ada', role: 'admin' }
const DAY_MS = 86_400_000

async function openLogin(refreshRotation = true) {
  const warnings: unknown[] = []
  const logger: Logger = { ...silentLogger, warn: (fields, message) => warnings.push({ ...fields, message }) }
  const harness = openHarness({ refreshRotation, logger })
  const { request } = harness
  await request(`POST ${AUTH}/register`, { body: ADA })
  const enter = async () => (await request(`POST ${AUTH}/login`, { body: ADA })).body
  const renew = async (refresh_token: string) => {
    const { status, body } = await request(`POST ${AUTH}/refresh`, { body: { refresh_token } })
    return { status, token: body.refresh_token, access: body.access_token, code: body.code }
  }
  const statusWith = async (token: string) => (await request(`GET ${AUTH}/me`, { token })).status
  return { ...harness, enter, renew, statusWith, warnings, login: await enter() }
}

test('each renewal gives a new refresh token, which can be renewed again', async () => {
  const { login, renew, clock } = await openLogin()
  const seen = new Set([login.refresh_token])
  let token = login.refresh_token
  for (let i = 1; i <= 5; i++) {
    clock.at += 3_600_000
    const renewed = await renew(token)
    expect(renewed.status).toBe(200)
    token = renewed.token
    expect(seen.size).toBe(i)
    seen.add(token)
  }
})

test('twenty concurrent renewals and a repetition within ten seconds get the same successor', async () => {
  const { login, renew, statusWith, clock, warnings } = await openLogin()
  const all = await Promise.all(Array.from({ length: 20 }, () => renew(login.refresh_token)))
  expect(new Set(all.map(({ token }) => token)).size).toBe(1)
  clock.at += 10_000
  const late = await renew(login.refresh_token)
  expect(late.token).toBe(all[0]?.token)
  expect(await statusWith(late.access)).toBe(200)
  expect(warnings).toEqual([])
})

test('a late answer to a repetition does not put back a token that was replaced meanwhile', async () => {
  const { login, renew, clock, warnings } = await openLogin()
  const second = await renew(login.refresh_token)
  clock.at += 3_000
  const third = await renew(second.token)
  clock.at += 3_000
  // A browser keeps whichever token comes last.
  const late = await renew(login.refresh_token)
  expect(late.token).toBe(third.token)
  clock.at += 3_600_000
  expect((await renew(late.token)).status).toBe(200)
  expect(warnings).toEqual([])
})

test('a token that is reused later ends its login with all access tokens, and no other login', async () => {
  const { login, enter, renew, statusWith, clock, warnings } = await openLogin()
  const other = await enter()
  const next = await renew(login.refresh_token)
  clock.at += 10_001
  expect(await renew(login.refresh_token)).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' })
  expect((await renew(next.token)).status).toBe(401)
  expect([await statusWith(login.access_token), await statusWith(next.access)]).toEqual([401, 401])
  expect([await statusWith(other.access_token), (await renew(other.refresh_token)).status]).toEqual([
    200, 200,
  ])
  expect(warnings).toEqual([
    {
      user_id: expect.stringMatching(/^usr_/),
      login: expect.stringMatching(/^fam_/),
      message: 'a refresh token was used after it was replaced, so it may be stolen: the login is ended',
    },
  ])
  expect(JSON.stringify(warnings)).not.toContain('rt_')
})

test('a token that is reused after seven idle days ends the login of whoever renewed it', async () => {
  const { login, renew, statusWith, clock, warnings } = await openLogin()
  let stolen = await renew(login.refresh_token)
  for (let day = 0; day < 8; day++) {
    clock.at += DAY_MS
    stolen = await renew(stolen.token)
  }
  expect((await renew(login.refresh_token)).status).toBe(401)
  expect([(await renew(stolen.token)).status, await statusWith(stolen.access)]).toEqual([401, 401])
  expect(warnings).toHaveLength(1)
})

test('a successor expires with its login, thirty days after it began or after seven idle days', async () => {
  const { login, renew, clock } = await openLogin()
  let token = login.refresh_token
  for (let day = 6; day < 30; day += 6) {
    clock.at += 6 * DAY_MS
    token = (await renew(token)).token
  }
  clock.at += 6 * DAY_MS
  expect((await renew(token)).code).toBe('TOKEN_EXPIRED')
})

test('an idle successor ends after seven days', async () => {
  const { login, renew, clock } = await openLogin()
  const { token } = await renew(login.refresh_token)
  clock.at += 7 * DAY_MS
  expect((await renew(token)).code).toBe('TOKEN_EXPIRED')
})

test('a logout with any token of a login ends all of it', async () => {
  const { login, renew, request, statusWith } = await openLogin()
  const next = await renew(login.refresh_token)
  const body = { refresh_token: login.refresh_token }
  await request(`POST ${AUTH}/logout`, { token: next.access, body })
  expect([(await renew(next.token)).status, await statusWith(next.access)]).toEqual([401, 401])
})

test('without rotation, a refresh token stays the same', async () => {
  const { login, renew, clock } = await openLogin(false)
  clock.at += 3_600_000
  expect((await renew(login.refresh_token)).token).toBe(login.refresh_token)
  clock.at += 60_000
  expect((await renew(login.refresh_token)).token).toBe(login.refresh_token)
})

test('a login fails if the password changes meanwhile', async () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const passwords = {
    hash: async (password: string) => `plain:${password}`,
    async verify(password: string, hashed: string | undefined) {
      await held
      return hashed === `plain:${password}`
    },
  }
  const { request, login } = openHarness({ passwords })
  const { token } = await login('admin')
  const { body: ada } = await request(`POST ${AUTH}/register`, { body: ADA })
  const entering = request(`POST ${AUTH}/login`, { body: ADA })
  const body = { password: 'battery staple' }
  expect((await request(`PATCH /api/v1/users/${ada.id}`, { token, body })).status).toBe(200)
  release()
  expect((await entering).body.code).toBe('INVALID_CREDENTIALS')
})
