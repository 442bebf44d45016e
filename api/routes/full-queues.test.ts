import { expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { CommandId } from '../../schemas/ids.ts'
import { openHarness } from '../testing/rest.ts'

const PATH = '/api/v1/commands/$broadcast'

test('a broadcast that no device has room for has failed, and does not stay pending', async () => {
  const { device, engine, login, request } = openHarness()
  const { token } = await login('operator')
  const id = await device('r1', { group: 'w' })
  for (let i = 0; i < LIMITS.commandsOpenMax; i++)
    await engine.submit(
      id,
      { kind: 'command', id: CommandId(`c${i}`), wish: { name: 'go' } },
      { by: { kind: 'user', id: 'usr_x' } },
    )
  const { status, body } = await request(`POST ${PATH}`, { token, body: { group: 'w', command: 'stop' } })
  const skipped = [{ device_id: 'r1', reason: 'queue_full' }]
  expect([status, body]).toMatchObject([202, { total: 1, accepted: 0, skipped, status: 'failed' }])
  const { body: read } = await request(`GET ${PATH}/${body.broadcast_id}`, { token })
  expect(read).toMatchObject({ accepted: 0, skipped, status: 'failed' })
  const { body: list } = await request(`GET ${PATH}`, { token })
  expect(list.data).toMatchObject([{ accepted: 0, status: 'failed' }])
})
