import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { Fault } from '../../engine/ports/fault.ts'
import { openHarness } from '../testing/rest.ts'

const PATH = '/api/v1/dead-letters'

async function openFleet() {
  const harness = openHarness()
  const { device, engine, login, request, clock } = harness
  const [a, b] = [await device('ra'), await device('rb')]
  const { token } = await login('admin')
  const send = (line: string, body?: unknown) => request(line, { token, body })
  const say = async (id: typeof a, suffix: string, text: string) => {
    clock.at += 1_000
    const sender = await engine.connect(id)
    await sender.publish(`fleet/${id}/${suffix}`, text)
    sender.end('disconnect')
    await engine.view(id)
  }
  const letters = async (query = '') => (await send(`GET ${PATH}${query}`)).body.data
  const reasons = async (query = '') => (await letters(query)).map((each: { reason: string }) => each.reason)
  return { ...harness, a, b, send, say, letters, reasons }
}

test('dead letters are listed by reason, and counted by it', async () => {
  const { a, b, say, send, letters } = await openFleet()
  await say(a, 'status', 'rubbish')
  await say(a, 'log', 'rubbish')
  await say(b, 'status', 'rubbish')
  const [newest] = await letters('?reason=MALFORMED_STATUS')
  expect([(await letters('?reason=MALFORMED_STATUS')).length, newest]).toMatchObject([
    2,
    { device_id: 'rb', replayable: true },
  ])
  expect(await letters('?reason=NONE')).toEqual([])
  expect((await send(`GET ${PATH}/summary`)).body).toEqual({
    total: 3,
    data: [
      {
        ...{ reason: 'MALFORMED_STATUS', count: 2, devices: 2 },
        ...{ oldest_at: '2026-03-01T12:00:01.500Z', newest_at: '2026-03-01T12:00:03.500Z' },
      },
      {
        ...{ reason: 'not_json', count: 1, devices: 1 },
        ...{ oldest_at: '2026-03-01T12:00:02.500Z', newest_at: '2026-03-01T12:00:02.500Z' },
      },
    ],
  })
  expect((await send(`GET ${PATH}/summary?device_id=rb`)).body.total).toBe(1)
  expect((await send(`GET ${PATH}/summary?device_id=..`)).body).toEqual({ total: 0, data: [] })
})

describe('a replay', () => {
  /** A message that a gateway sent for a device that was not yet its sub-device. */
  async function withStranger() {
    const fleet = await openFleet()
    const gateway = await fleet.device('gw', { type: 'gateway' })
    await fleet.say(gateway, 'sub/later/telemetry', '{"m":7}')
    const [letter] = await fleet.letters()
    const later = await fleet.device('later', { type: 'mqtt_device', parentId: 'gw' })
    fleet.clock.at += 1_000
    return { ...fleet, later, letter: letter as { id: string; reason: string } }
  }

  test('processes the message like any other, and removes the letter', async () => {
    const { send, engine, later, letter, letters } = await withStranger()
    const { status, body } = await send(`POST ${PATH}/${letter.id}/replay`)
    expect([status, body.id]).toEqual([200, letter.id])
    expect(await letters()).toEqual([])
    expect((await engine.snapshot(later))?.data).toEqual({ m: 7 })
    expect((await send(`POST ${PATH}/${letter.id}/replay`)).status).toBe(404)
  })

  test('does not count as a sign of life', async () => {
    const { send, engine, later, letter } = await withStranger()
    await send(`POST ${PATH}/${letter.id}/replay`)
    expect((await engine.view(later))?.device.status).toBe('provisioning')
  })

  test('counts once, although the letter could not be removed the first time', async () => {
    const { send, engine, a, say, letters } = await openFleet()
    await say(a, 'status', 'rubbish')
    const [{ id }] = await letters()
    const { save } = engine.store
    engine.store.save = async (what) => {
      if (what.lettersRemoved.length > 0) throw new Fault('STORE_UNAVAILABLE', { retryable: true })
      return await save.call(engine.store, what)
    }
    expect((await send(`POST ${PATH}/${id}/replay`)).status).toBe(503)
    engine.store.save = save
    // The message was processed, and became a dead letter again.
    expect(await letters()).toMatchObject([{ reason: 'MALFORMED_STATUS' }, { id }])
    expect((await send(`POST ${PATH}/${id}/replay`)).status).toBe(200)
    expect((await engine.view(a))?.device.replayed).toHaveLength(1)
    expect(await letters()).toMatchObject([{ reason: 'MALFORMED_STATUS' }])
  })

  test('a message that is still not understood becomes another dead letter', async () => {
    const { send, a, say, letters } = await openFleet()
    await say(a, 'status', 'rubbish')
    const [before] = await letters()
    await send(`POST ${PATH}/${before.id}/replay`)
    const after = await letters()
    expect(after).toMatchObject([{ reason: 'MALFORMED_STATUS', payload: 'rubbish', device_id: 'ra' }])
    expect(after[0].id).not.toBe(before.id)
  })

  test('needs the whole message', async () => {
    const { send, a, say, letters } = await openFleet()
    await say(a, 'status', 'x'.repeat(LIMITS.deadLetterPayloadBytesMax + 1))
    const [letter] = await letters()
    expect(letter.replayable).toBe(false)
    const { status, body } = await send(`POST ${PATH}/${letter.id}/replay`)
    expect([status, body.code]).toEqual([409, 'LETTER_NOT_REPLAYABLE'])
    const many = await send(`POST ${PATH}/replay`, {})
    expect(many.body).toEqual({ dry_run: false, total: 1, done: 0, skipped: 1 })
    expect(await letters()).toHaveLength(1)
  })
})

test('one is discarded', async () => {
  const { send, a, say, letters } = await openFleet()
  await say(a, 'status', 'rubbish')
  const [{ id }] = await letters()
  expect((await send(`DELETE ${PATH}/${id}`)).status).toBe(204)
  expect((await send(`DELETE ${PATH}/${id}`)).status).toBe(404)
  expect(await letters()).toEqual([])
})

test('many are replayed or discarded by a filter, and a dry run counts them', async () => {
  const { send, a, b, say, reasons } = await openFleet()
  await say(a, 'status', 'rubbish')
  await say(b, 'status', 'rubbish')
  await say(a, 'log', 'rubbish')
  const act = async (what: string, body: object) => (await send(`POST ${PATH}/${what}`, body)).body
  expect(await act('discard?dry_run=true', { reason: 'MALFORMED_STATUS' })).toEqual({
    ...{ dry_run: true, total: 2, done: 2, skipped: 0 },
  })
  expect(await reasons()).toHaveLength(3)
  // A message that cannot be processed becomes a dead letter again, and is tried only once.
  expect(await act('replay', { device_id: 'ra' })).toMatchObject({ total: 2, done: 2 })
  expect(await reasons('?device_id=ra')).toEqual(['not_json', 'MALFORMED_STATUS'])
  expect(
    await act('discard', { reason: 'MALFORMED_STATUS', before: '2026-03-01T12:00:03.000Z' }),
  ).toMatchObject({ done: 1 })
  expect(await reasons()).toEqual(['not_json', 'MALFORMED_STATUS'])
  expect(await act('discard', { device_id: 'nobody' })).toMatchObject({ total: 0 })
  expect(await act('discard', { device_id: '../x' })).toMatchObject({ total: 0 })
  expect(await act('discard', {})).toMatchObject({ done: 2 })
  expect(await reasons()).toEqual([])
})

test('only admins see and move dead letters', async () => {
  const { login, request } = await openFleet()
  const { token } = await login('operator')
  for (const line of [`GET ${PATH}/summary`, `DELETE ${PATH}/dl_1`, `POST ${PATH}/dl_1/replay`])
    expect((await request(line, { token })).status).toBe(403)
  for (const line of [`POST ${PATH}/replay`, `POST ${PATH}/discard`])
    expect((await request(line, { token, body: {} })).status).toBe(403)
})
