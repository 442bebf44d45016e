import { describe, expect, test } from 'vitest'
import { MemoryAnswers } from '../../engine/adapters/answers/testing/memory.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { IdempotencyStore, StoredAnswer } from '../../engine/ports/idempotency.ts'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { API_LIMITS } from '../limits.ts'
import { refused } from '../refusal.ts'
import { openHarness } from '../testing/rest.ts'
import { answer } from './answer.ts'
import { createRepeats, type RepeatableRequest } from './repeats.ts'

const DEVICES = 'POST /api/v1/devices'
const BROADCAST = 'POST /api/v1/commands/$broadcast'
const wish = { name: 'A', type: 'simulator', group: 'a' }
const key = (text: string) => ({ 'idempotency-key': text })

/** Loses every answer, like a service that dies before it has stored one. */
const forgetful: IdempotencyStore = {
  find: async () => ({ kind: 'none' }),
  begin: async (_, now) => ({ kind: 'begun', until: now }),
  put: async () => {},
  abandon: async () => {},
}

async function asAdmin(answers?: IdempotencyStore) {
  const harness = openHarness(answers === undefined ? {} : { answers })
  const { token, user } = await harness.login('admin')
  const send = (line: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
    harness.request(line, { token, body, headers })
  return { ...harness, send, user }
}

describe('the same request under the same key', () => {
  test.each([
    ['a device', DEVICES, wish, 201],
    ['a device token', 'POST /api/v1/auth/devices/token', { device_id: 'r' }, 200],
    ['an API key', 'POST /api/v1/api-keys', { name: 'ci', role: 'viewer' }, 201],
    ['a broadcast', BROADCAST, { group: 'a', command: 'go' }, 202],
  ])('makes %s once, and is answered the same', async (_, line, body, status) => {
    const { send, device, clock } = await asAdmin()
    await device('r', { group: 'a' })
    const first = await send(line, body, key('k'))
    expect([first.status, first.headers['idempotency-replayed']]).toEqual([status, undefined])
    clock.at += 60_000
    const again = await send(line, Object.fromEntries(Object.entries(body).reverse()), key('k'))
    expect([again.status, again.headers['idempotency-replayed']]).toEqual([status, 'true'])
    expect(again.text).toBe(first.text)
    expect(again.headers['location']).toBe(first.headers['location'])
    expect((await send(line, body, key('other'))).text).not.toBe(first.text)
  })

  test('with another body, path or method is refused as a different request: 409', async () => {
    const { send, device } = await asAdmin()
    await device('r', { group: 'a' })
    await send(DEVICES, wish, key('k'))
    for (const [line, body] of [
      [DEVICES, { ...wish, name: 'B' }],
      ['POST /api/v1/auth/devices/token', { device_id: 'r' }],
      [BROADCAST, { group: 'a', command: 'go' }],
      ['POST /api/v1/commands/r', { command: 'go' }],
    ] as const) {
      const { status, body: problem, text } = await send(line, body, key('k'))
      expect([status, problem.code]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
      expect(text).not.toContain('usr_')
    }
  })

  test('the same key of another user is a request of its own', async () => {
    const { send, login, request, engine } = await asAdmin()
    const other = await login('admin')
    const first = await send(DEVICES, wish, key('k'))
    const theirs = await request(DEVICES, { token: other.token, body: wish, headers: key('k') })
    expect(theirs.body.device_id).not.toBe(first.body.device_id)
    expect(engine.all().length).toBe(2)
  })

  test('counts as a new one after a day', async () => {
    const { login, request, clock, engine, user } = await asAdmin()
    const send = async (line: string, body: object) => {
      const { token } = await login('admin', { id: user.id })
      return await request(line, { token, body, headers: key(line.replace(' ', '')) })
    }
    const call = { group: 'a', command: 'go' }
    const first = [await send(DEVICES, wish), await send(BROADCAST, call)]
    clock.at += LIMITS.idempotencyKeyMs
    const later = [await send(DEVICES, wish), await send(BROADCAST, call)]
    expect(later.map(({ status }) => status)).toEqual([201, 202])
    expect(engine.all().length).toBe(2)
    expect(later[1]?.body.broadcast_id).not.toBe(first[1]?.body.broadcast_id)
  })

  test('is judged again if it was refused', async () => {
    const { send, device } = await asAdmin()
    const body = { device_id: 'r' }
    const line = 'POST /api/v1/auth/devices/token'
    expect((await send(line, body, key('k'))).status).toBe(404)
    await device('r')
    expect((await send(line, body, key('k'))).status).toBe(200)
  })

  test('creates nothing twice, even if the service died before it could store the answer', async () => {
    const { send, engine } = await asAdmin(forgetful)
    for (const body of [wish, { ...wish, device_id: 'mine' }]) {
      const [first, again] = [
        await send(DEVICES, body, key(body.name)),
        await send(DEVICES, body, key(body.name)),
      ]
      expect([first.status, again.status]).toEqual([201, 201])
      expect(again.body.device_id).toBe(first.body.device_id)
    }
    expect(engine.all().length).toBe(2)
    expect((await send(DEVICES, { ...wish, device_id: 'mine' }, key('other'))).status).toBe(409)
    const call = { group: 'a', command: 'go' }
    const [first, again] = [await send(BROADCAST, call, key('b')), await send(BROADCAST, call, key('b'))]
    expect(again.body.broadcast_id).toBe(first.body.broadcast_id)
    for (const { id } of engine.all()) expect(await engine.commands(id)).toHaveLength(1)
  })
})

describe('a command under a key', () => {
  test.each([
    ['a view', '/api/v1/views', { name: 'Mine', path: '/devices' }],
    ['an API key', '/api/v1/api-keys', { name: 'ci', role: 'viewer' }],
    [
      'a provisioning key',
      '/api/v1/auth/provisioning-keys',
      { type: 'simulator', limit: 2, ttl_sec: 172_800 },
    ],
  ])('makes %s once, even if the service died before it could store the answer', async (_, path, body) => {
    const { login, request, clock, user } = await asAdmin(forgetful)
    const send = async (line: string) => {
      const { token } = await login('admin', { id: user.id })
      return await request(line, {
        token,
        body: line.startsWith('GET') ? undefined : body,
        headers: key('k'),
      })
    }
    const total = async () => (await send(`GET ${path}`)).body.total
    for (let tries = 0; tries < 2; tries++) expect((await send(`POST ${path}`)).status).toBe(201)
    expect(await total()).toBe(1)
    // From now on the key is a new one.
    clock.at += LIMITS.idempotencyKeyMs
    expect([(await send(`POST ${path}`)).status, await total()]).toEqual([201, 2])
  })

  test('makes another API key if the first one was used: somebody has its secret', async () => {
    const { send, request } = await asAdmin(forgetful)
    const make = () => send('POST /api/v1/api-keys', { name: 'ci', role: 'viewer' }, key('k'))
    const { body: lost } = await make()
    const { body: first } = await make()
    const meOf = (token: string) => request('GET /api/v1/auth/me', { token })
    expect([(await meOf(lost.api_key)).status, (await meOf(first.api_key)).status]).toEqual([401, 200])
    const { body: second } = await make()
    expect([(await meOf(first.api_key)).status, (await meOf(second.api_key)).status]).toEqual([200, 200])
  })

  test('is found for a day, however many commands follow it', async () => {
    const { send, device, engine, clock } = await asAdmin()
    const id = await device('r')
    const post = (text: string, query = '') =>
      send(`POST /api/v1/commands/r${query}`, { command: 'go' }, key(text))
    const first = await post('k0')
    for (let i = 0; i <= LIMITS.commandsLateMax + LIMITS.commandsKeptMax + 5; i++) {
      const { body } = await post(`k${i}`)
      await engine.submit(id, { kind: 'cancel', id: body.command_id }, { by: { kind: 'user', id: 'usr_1' } })
      clock.at += 1
    }
    expect((await engine.commands(id))?.map((command) => command.id)).not.toContain(first.body.command_id)
    expect((await post('k0')).body.command_id).toBe(first.body.command_id)
  })

  test('is answered with its current state, however long the repeat waits', async () => {
    const { send, device, engine } = await asAdmin()
    const id = await device('r')
    const post = (query: string) => send(`POST /api/v1/commands/r${query}`, { command: 'go' }, key('k'))
    const first = await post('')
    await engine.submit(
      id,
      { kind: 'cancel', id: first.body.command_id },
      { by: { kind: 'user', id: 'usr_1' } },
    )
    const { status, body, headers } = await post('?wait=1')
    expect([status, body.status, headers['idempotency-replayed']]).toEqual([200, 'cancelled', 'true'])
  })

  test('that is no longer in any list is answered as the first time', async () => {
    const { send, device, engine } = await asAdmin()
    await device('r')
    const post = () => send('POST /api/v1/commands/r', { command: 'go' }, key('k'))
    const first = await post()
    engine.awaitCommand = async () => undefined
    const again = await post()
    expect([again.status, again.text, again.headers['idempotency-replayed']]).toEqual([
      202,
      first.text,
      'true',
    ])
  })
})

test.each(['a b', '\u00e9', 'x'.repeat(129), ''])('%j is no key: 400', async (text) => {
  const { send } = await asAdmin()
  const { status, body } = await send(DEVICES, wish, key(text))
  expect([status, body.code]).toEqual([400, 'BAD_REQUEST'])
})

test('what is stored reveals neither an answer nor its key', async () => {
  const kept: StoredAnswer[] = []
  const { send, user } = await asAdmin({ ...forgetful, put: async (each) => void kept.push(each) })
  const { body } = await send(DEVICES, wish, key('canary-key'))
  const text = kept
    .map((each) => JSON.stringify({ ...each, sealed: Buffer.from(each.sealed).toString('latin1') }))
    .join()
  expect(kept).toHaveLength(1)
  for (const secret of [body.access_token, body.device_id, 'canary-key', user.id])
    expect(text).not.toContain(secret)
})

test('without room for another answer a request with a key is refused, and nothing changes', async () => {
  const { send, engine } = await asAdmin({ ...forgetful, begin: async () => ({ kind: 'full' }) })
  const { status, headers } = await send(DEVICES, wish, key('k'))
  expect([status, headers['retry-after']]).toEqual([429, String(API_LIMITS.keptAnswersRetrySec)])
  expect(engine.all().length).toBe(0)
  expect((await send(DEVICES, wish)).status).toBe(201)
})

test('a user who fills their own room does not affect others, and can still stop a device', async () => {
  const room = { bytesMax: 65_536, ownerMax: 3, ownerBytesMax: 65_536 }
  const { send, login, request, device } = await asAdmin(new MemoryAnswers(room))
  await device('r')
  const token = (name: string) => send('POST /api/v1/auth/devices/token', { device_id: 'r' }, key(name))
  const statuses = [await token('a'), await token('b'), await token('c'), await token('d')]
  expect(statuses.map(({ status }) => status)).toEqual([200, 200, 200, 429])
  const other = await login('admin')
  expect((await request(DEVICES, { token: other.token, body: wish, headers: key('theirs') })).status).toBe(
    201,
  )
  const command = (body: object) => send('POST /api/v1/commands/r', body, key('e'))
  expect((await command({ command: 'go' })).status).toBe(429)
  const stop = { command: 'emergency_stop', priority: 'critical' }
  const [first, again] = [await command(stop), await command(stop)]
  expect([first.status, again.status]).toEqual([202, 202])
  expect(again.body.command_id).toBe(first.body.command_id)
})

describe('at two nodes, a request under a key', () => {
  function openTwo() {
    const [answers, clock] = [new MemoryAnswers(), new StandingTime(0)]
    const [one, other] = [createRepeats({ answers, clock }), createRepeats({ answers, clock })]
    const request: RepeatableRequest = {
      user: { id: 'usr_1' },
      method: 'POST',
      url: '/x',
      query: {},
      body: {},
      header: () => 'k',
    }
    const found = one.keyOf(request)
    if (found === undefined || found.kind === 'refused') return expect.fail('no key')
    return { one, other, found, clock, answers }
  }
  const inUse = { code: 'IDEMPOTENCY_KEY_IN_USE', detail: { retry_after_sec: 1 } }

  test('is told to retry while the first is in progress, and gets the same answer afterwards', async () => {
    const { one, other, found } = openTwo()
    let finish = () => {}
    let hasBegun = () => {}
    const begun = new Promise<void>((resolve) => (hasBegun = resolve))
    const first = one.runOnce(found, () => {
      hasBegun()
      return new Promise((resolve) => (finish = () => resolve(answer(201, {}))))
    })
    await begun
    for (const node of [one, other])
      expect(await node.runOnce(found, async () => answer(201, {}))).toMatchObject(inUse)
    finish()
    expect(await first).toMatchObject({ status: 201 })
    for (const node of [one, other])
      expect(await node.runOnce(found, async () => refused('INTERNAL'))).toMatchObject({ status: 201 })
  })

  test.each([
    ['was refused', async () => refused('NOT_FOUND')],
    ['failed', () => Promise.reject(new Error('broken'))],
  ])('runs again if it %s', async (_, run) => {
    const { one, other, found } = openTwo()
    await one.runOnce(found, run).catch(() => undefined)
    expect(await other.runOnce(found, async () => answer(201, {}))).toMatchObject({ status: 201 })
  })

  test('runs again if its answer could not be stored', async () => {
    const { one, other, found, answers } = openTwo()
    const put = answers.put.bind(answers)
    answers.put = () => Promise.reject(new Error('full disk'))
    await expect(one.runOnce(found, async () => answer(201, {}))).rejects.toThrow('full disk')
    answers.put = put
    expect(await other.runOnce(found, async () => answer(201, {}))).toMatchObject({ status: 201 })
  })

  test('runs again some time after its node died', async () => {
    const { one, other, found, clock } = openTwo()
    void one.runOnce(found, () => new Promise(() => {}))
    expect(await other.runOnce(found, async () => answer(201, {}))).toMatchObject(inUse)
    clock.at = LIMITS.answerBegunMs
    expect(await other.runOnce(found, async () => answer(201, {}))).toMatchObject({ status: 201 })
  })
})
