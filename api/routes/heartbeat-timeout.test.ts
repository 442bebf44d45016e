import { expect, test } from 'vitest'
import { emptyType } from '../testing/device-type.ts'
import { openHarness } from '../testing/rest.ts'

const DEVICES = '/api/v1/devices'

async function asAdmin() {
  const types = new Map([['greenhouse', { ...emptyType('greenhouse'), heartbeatTimeoutSec: 900 }]])
  const { login, request } = openHarness({ customTypes: types })
  const { token } = await login('admin')
  return (line: string, body?: unknown) => request(line, { token, body })
}

test('a device shows its own timeout, or else that of its type, or else that of the service', async () => {
  const send = await asAdmin()
  const make = (more: object) => send(`POST ${DEVICES}`, { name: 'x', type: 'greenhouse', ...more })
  expect((await make({ device_id: 'own', heartbeat_timeout_sec: 7 })).status).toBe(201)
  expect((await make({ device_id: 'of-type' })).status).toBe(201)
  expect((await make({ device_id: 'of-service', type: 'simulator' })).status).toBe(201)
  const seconds = async (id: string) => (await send(`GET ${DEVICES}/${id}`)).body.heartbeat_timeout_sec
  expect([await seconds('own'), await seconds('of-type'), await seconds('of-service')]).toEqual([7, 900, 60])
  const edit = (body: object) => send(`PATCH ${DEVICES}/own`, body)
  expect((await edit({ heartbeat_timeout_sec: 30 })).body.heartbeat_timeout_sec).toBe(30)
  expect((await edit({ name: 'y' })).body.heartbeat_timeout_sec).toBe(30)
  expect((await edit({ heartbeat_timeout_sec: null })).body.heartbeat_timeout_sec).toBe(900)
})

test.each([0, 604_801, 1.5, '60'])('a timeout of %j is refused', async (seconds) => {
  const send = await asAdmin()
  const body = { device_id: 'a', name: 'x', type: 'simulator', heartbeat_timeout_sec: seconds }
  expect(await send(`POST ${DEVICES}`, body)).toMatchObject({ status: 422 })
})

test('a type shows its timeout, and null where it has none', async () => {
  const send = await asAdmin()
  const { body } = await send('GET /api/v1/device-types')
  const byName = new Map<string, number | null>(
    body.data.map((type: { name: string; heartbeat_timeout_sec: number | null }) => [
      type.name,
      type.heartbeat_timeout_sec,
    ]),
  )
  expect([byName.get('greenhouse'), byName.get('simulator')]).toEqual([900, null])
})
