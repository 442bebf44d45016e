import { expect, test } from 'vitest'
import type { JsonObject } from '../../../schemas/json.ts'
import { DesiredState } from './desired-state.ts'

function open(arrives: () => Promise<void> = () => Promise.resolve()) {
  const reports: JsonObject[] = []
  const failures: unknown[] = []
  let asked = 0
  let tokens = 0
  const state = new DesiredState({
    report: (body) => {
      reports.push(body)
      return arrives()
    },
    ask: () => asked++,
    newToken: () => `t${tokens++}`,
    failed: (error) => failures.push(error),
  })
  return { state, reports, failures, asked: () => asked }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

test('a difference is applied and what came of it is reported; an older or equal version is ignored', async () => {
  const { state, reports } = open()
  const seen: unknown[] = []
  state.handle((delta, about) => {
    seen.push([delta, about.version])
    return delta
  })
  state.desired({ version: 7, state: { led: 'on' } })
  state.desired({ version: 7, state: { led: 'on' } })
  state.desired({ version: 6, state: { led: 'off' } })
  state.desired({ version: 8, state: {} })
  await settle()
  expect(seen).toEqual([[{ led: 'on' }, 7]])
  expect(reports).toEqual([{ state: { led: 'on' }, version: 8, client_token: 't0' }])
})

test('what was applied is reported for the newest version, again after a conflict, and at last without one', async () => {
  const { state, reports, asked } = open()
  state.handle((delta) => delta)
  state.desired({ version: 7, state: { led: 'on' } })
  await settle()
  for (const version of [9, 10, 11, 12]) {
    state.rejected({ client_token: 't0', status: 409, code: 'DEVICE_SHADOW_CONFLICT' })
    state.document({ version, delta: {} })
  }
  expect(asked()).toBe(4)
  expect(reports.map(({ version }) => version)).toEqual([7, 9, 10, 11, undefined])
  state.accepted({ client_token: 't0', version: 13 })
  await settle()
  state.desired({ version: 14, state: { led: 'off' } })
  await settle()
  expect(reports.at(-1)).toEqual({ state: { led: 'off' }, version: 14, client_token: 't1' })
})

test('a report that meets a conflict is never sent after a newer one', async () => {
  const { state, reports } = open()
  state.handle((delta) => delta)
  state.desired({ version: 7, state: { led: 'on' } })
  await settle()
  state.desired({ version: 8, state: { led: 'off' } })
  await settle()
  state.rejected({ client_token: 't0', status: 409, code: 'DEVICE_SHADOW_CONFLICT' })
  state.document({ version: 8, delta: { led: 'off' } })
  state.accepted({ client_token: 't0', version: 9 })
  await settle()
  expect(reports.map(({ state: patch, version }) => [patch, version])).toEqual([
    [{ led: 'on' }, 7],
    [{ led: 'on' }, 8],
    [{ led: 'off' }, 9],
  ])
})

test('ten writes in a row end at the last', async () => {
  const { state } = open()
  const seen: unknown[] = []
  state.handle(async (delta) => {
    seen.push(delta['n'])
    await settle()
    return undefined
  })
  for (let n = 1; n <= 10; n++) state.desired({ version: n, state: { n } })
  for (let turns = 0; turns < 5; turns++) await settle()
  expect(seen).toEqual([1, 10])
})

test('each connect asks for the shadow, whose answer counts like a message', async () => {
  const { state, asked } = open()
  const seen: unknown[] = []
  state.handle((delta) => {
    seen.push(delta)
    return undefined
  })
  state.connected()
  state.document({ version: 3, delta: { led: 'on' }, reported: {} })
  state.desired({ version: 2, state: { led: 'blue' } })
  await settle()
  expect([asked(), seen]).toEqual([1, [{ led: 'on' }]])
})

test('a report resolves with the version, and one that meets a conflict reads and tries again', async () => {
  const { state, reports, asked } = open()
  const version = state.report({ led: 'on' })
  state.rejected({ client_token: 't0', status: 409, code: 'DEVICE_SHADOW_CONFLICT' })
  expect(asked()).toBe(1)
  state.document({ version: 9, delta: {} })
  expect(reports).toHaveLength(2)
  state.accepted({ client_token: 't0', version: 10 })
  expect(await version).toBe(10)
})

test('a report that is refused for good rejects with the reason, and so does one that keeps meeting conflicts', async () => {
  const { state } = open()
  const refused = state.report({ led: 'on' })
  state.rejected({ client_token: 't0', status: 413, code: 'PAYLOAD_TOO_LARGE', detail: 'too much' })
  await expect(refused).rejects.toThrow('PAYLOAD_TOO_LARGE too much')
  const unlucky = state.report({ led: 'on' })
  for (let tries = 0; tries < 5; tries++) state.rejected({ client_token: 't1', status: 409 })
  await expect(unlucky).rejects.toThrow('409')
})

test('a report whose answer was lost with the connection is sent again', async () => {
  const { state, reports } = open()
  void state.report({ led: 'on' })
  await settle()
  state.connected()
  expect(reports).toEqual([
    { state: { led: 'on' }, client_token: 't0' },
    { state: { led: 'on' }, client_token: 't0' },
  ])
})

test('reports that wait for the connection are sent once, so that no older state follows a newer one', () => {
  const { state, reports } = open(() => new Promise(() => {}))
  void state.report({ door: 'open' })
  void state.report({ door: 'closed' })
  state.connected()
  expect(reports.map(({ state: patch }) => patch)).toEqual([{ door: 'open' }, { door: 'closed' }])
})

test('a report that cannot be sent rejects, and those after it are sent', async () => {
  let isLarge = true
  const { state, reports, failures } = open(() =>
    isLarge ? Promise.reject(new Error('the message is too large')) : Promise.resolve(),
  )
  await expect(state.report({ map: 'x' })).rejects.toThrow('too large')
  state.handle((delta) => delta)
  state.desired({ version: 1, state: { led: 'on' } })
  await settle()
  isLarge = false
  state.desired({ version: 2, state: { led: 'off' } })
  await settle()
  expect(failures.map(String)).toEqual(['Error: the message is too large'])
  expect(reports.at(-1)).toMatchObject({ state: { led: 'off' }, version: 2 })
})
