import { expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { Micros } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { NOW, openHarness } from '../testing/rest.ts'

const SHADOW = '/api/v1/shadows/r'

async function openShadow() {
  const harness = openHarness()
  const { token } = await harness.login('operator')
  const id = await harness.device('r')
  const send = (line: string, body?: unknown, headers: Record<string, string> = {}) =>
    harness.request(line, { token, body, headers })
  const wish = (body: JsonObject) => send(`PUT ${SHADOW}/desired?mode=replace`, body)
  /** Resolves once the history has all changes up to this version. Its writer waits briefly to batch them. */
  const stored = (version: number) =>
    expect
      .poll(async () => {
        harness.clock.at += LIMITS.historyDelayMs
        return (await harness.engine.history({ deviceId: id, kinds: ['shadow'], limit: 1 }))[0]?.version
      })
      .toBe(version)
  return { ...harness, send, wish, id, stored }
}

/** Versions: 1 desired, 2 reported, 3 desired, 4 reported. */
async function openChanged() {
  const opened = await openShadow()
  const { wish, engine, id, clock, stored } = opened
  await wish({ light: { on: true, level: 5 }, mode: 'eco' })
  clock.at += 1_000
  await engine.publish(id, 'shadow/reported', { light: { on: true }, battery: 80 })
  clock.at += 1_000
  await wish({ light: { level: 7 } })
  clock.at += 1_000
  await engine.publish(id, 'shadow/reported', { light: null, battery: 70 })
  await stored(4)
  return opened
}

test('a shadow is shown as it was at each version', async () => {
  const { send } = await openChanged()
  const states = []
  for (const version of [0, 1, 2, 3, 4]) {
    const { status, headers, body } = await send(`GET ${SHADOW}?at_version=${version}`)
    expect([status, headers['etag'], body.version]).toEqual([200, `"${version}"`, version])
    states.push([body.desired, body.reported, body.in_sync, body.updated_at])
  }
  const first = { light: { on: true, level: 5 }, mode: 'eco' }
  expect(states).toEqual([
    [{}, {}, true, null],
    [first, {}, false, '2026-03-01T12:00:00.500Z'],
    [first, { light: { on: true }, battery: 80 }, false, '2026-03-01T12:00:01.500Z'],
    [{ light: { level: 7 } }, { light: { on: true }, battery: 80 }, false, '2026-03-01T12:00:02.500Z'],
    [{ light: { level: 7 } }, { battery: 70 }, false, '2026-03-01T12:00:03.500Z'],
  ])
})

test('the delta of an earlier version is computed as of that version, without times of its leaves', async () => {
  const { send } = await openChanged()
  const { body } = await send(`GET ${SHADOW}?at_version=2`)
  expect(body.delta).toEqual({ light: { level: 5 }, mode: 'eco' })
  expect(body.metadata).toEqual({ desired: {}, reported: {} })
  expect((await send(`GET ${SHADOW}?at_version=4`)).body).toEqual((await send(`GET ${SHADOW}`)).body)
})

test('changes are reverted across pages of the history', async () => {
  const { send, wish, stored } = await openShadow()
  for (let n = 1; n <= 205; n++) await wish({ n })
  await stored(205)
  expect((await send(`GET ${SHADOW}?at_version=2`)).body.desired).toEqual({ n: 2 })
  expect((await send(`GET ${SHADOW}?at_version=0`)).body.desired).toEqual({})
})

test('a version that does not exist yet is 404 with the present one', async () => {
  const { send } = await openChanged()
  for (const { status, body } of [
    await send(`GET ${SHADOW}?at_version=5`),
    await send(`POST ${SHADOW}/revert`, { to_version: 5 }),
  ])
    expect([status, body.detail]).toEqual([404, 'the shadow is at version 4, and has no version 5 yet'])
})

test.each(['-1', '1.5', 'x', '1e99'])('at_version=%s is 422', async (version) => {
  const { send } = await openShadow()
  expect((await send(`GET ${SHADOW}?at_version=${version}`)).status).toBe(422)
})

test('a version before a change that is no longer stored is 410, and later ones are still shown', async () => {
  const { send, engine } = await openChanged()
  const whole = engine.history.bind(engine)
  engine.history = async (query) => (await whole(query)).filter(({ version }) => version !== 2)
  const { status, body } = await send(`GET ${SHADOW}?at_version=1`)
  expect([status, body.code, body.detail]).toEqual([
    410,
    'SHADOW_VERSION_GONE',
    'version 1 cannot be rebuilt: the history does not have change 2',
  ])
  expect((await send(`POST ${SHADOW}/revert`, { to_version: 1 })).body.code).toBe('SHADOW_VERSION_GONE')
  expect((await send(`GET ${SHADOW}?at_version=3`)).status).toBe(200)
})

test('a request for a version waits until the last change has reached the history', async () => {
  const { send, wish, stored } = await openChanged()
  await wish({ mode: 'dark' })
  const [asked] = await Promise.all([send(`GET ${SHADOW}?at_version=4`), stored(5)])
  expect([asked.status, asked.body.version, asked.body.desired]).toEqual([200, 4, { light: { level: 7 } }])
})

test('a version is 503 if the last change takes long to reach the history, and 410 if it never arrives', async () => {
  const { send, wish, engine, clock } = await openChanged()
  let looks = 0
  engine.history = async () => {
    looks++
    setImmediate(() => {
      clock.at += 200
    })
    return []
  }
  await wish({ mode: 'dark' })
  expect([(await send(`GET ${SHADOW}?at_version=3`)).status, looks]).toEqual([503, 15])
  clock.at += 60_000
  expect((await send(`GET ${SHADOW}?at_version=3`)).status).toBe(410)
})

test('a version too many changes ago is 410 without a search', async () => {
  const { send, engine, id } = await openShadow()
  const shadow = await engine.shadow(id)
  engine.shadow = async () => (shadow === undefined ? undefined : { ...shadow, version: 2_002 })
  const { status, body } = await send(`GET ${SHADOW}?at_version=1`)
  expect([status, body.detail]).toEqual([410, 'version 1 cannot be rebuilt: more than 2000 changes ago'])
  expect(engine.askedHistory).toEqual([])
})

test('a row that cannot be read counts as missing', async () => {
  const { send, engine, id } = await openShadow()
  const shadow = await engine.shadow(id)
  engine.shadow = async () => (shadow === undefined ? undefined : { ...shadow, version: 2 })
  const body = { version: 2, section: 'desired', previous: [] }
  await engine.remember({ deviceId: id, kind: 'shadow', at: Micros(NOW * 1000), version: 2, body })
  expect((await send(`GET ${SHADOW}?at_version=1`)).status).toBe(410)
})

test('a shadow is reverted to the desired state of an earlier version, as a change with a version of its own', async () => {
  const { send, engine, id } = await openChanged()
  const { status, headers, body } = await send(
    `POST ${SHADOW}/revert`,
    { to_version: 2 },
    { 'if-match': '"4"' },
  )
  expect([status, headers['etag'], body.version]).toEqual([200, '"5"', 5])
  expect(body.desired).toEqual({ light: { on: true, level: 5 }, mode: 'eco' })
  expect(body.reported).toEqual({ battery: 70 })
  expect((await engine.shadow(id))?.desired).toEqual(body.desired)
  expect(engine.recorded.at(-1)).toMatchObject({ action: 'revertShadow', deviceId: 'r', outcome: 'success' })
})

test('a revert to the current desired state keeps the version', async () => {
  const { send } = await openChanged()
  const { status, body } = await send(`POST ${SHADOW}/revert`, { to_version: 3 })
  expect([status, body.version]).toEqual([200, 4])
})

test('a revert based on another version is refused and changes nothing', async () => {
  const { send, engine, id } = await openChanged()
  const { status, body } = await send(`POST ${SHADOW}/revert`, { to_version: 1 }, { 'if-match': '"3"' })
  expect([status, body.code, body.expected]).toEqual([409, 'DEVICE_SHADOW_CONFLICT', 4])
  const unreadable = await send(`POST ${SHADOW}/revert`, { to_version: 1 }, { 'if-match': '"x"' })
  expect(unreadable.status).toBe(400)
  expect((await engine.shadow(id))?.version).toBe(4)
})

test('the shadow of a decommissioned device is shown at its versions but not reverted', async () => {
  const { send, engine, id } = await openChanged()
  await engine.submit(id, { kind: 'decommission' }, { by: { kind: 'user', id: 'usr_x' } })
  expect((await send(`POST ${SHADOW}/revert`, { to_version: 1 })).body.code).toBe('DEVICE_DECOMMISSIONED')
  expect((await send(`GET ${SHADOW}?at_version=1`)).status).toBe(200)
})
