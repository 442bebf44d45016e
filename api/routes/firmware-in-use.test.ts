// Firmware that deployments or devices still need, and what force allows.
import { describe, expect, test } from 'vitest'
import { many, openDeploying } from '../testing/deploying.ts'

describe('a firmware that is being deployed', () => {
  test('is neither deleted nor yanked, and the refusal names its deployments', async () => {
    const { deploy, send, firmwareId, read } = await openDeploying(many(2, 'dies'))
    const { deployment_id: id } = (await deploy()).body
    const inUse = { status: 409, body: { code: 'FIRMWARE_IN_USE', deployments: [id] } }
    expect(await send(`DELETE /api/v1/ota/firmware/${firmwareId}`)).toMatchObject(inUse)
    // Force does not help here. It is for firmware that devices would roll back to.
    expect(await send(`DELETE /api/v1/ota/firmware/${firmwareId}?force=true`)).toMatchObject(inUse)
    const yank = `PATCH /api/v1/ota/firmware/${firmwareId}`
    expect(await send(yank, { status: 'yanked' })).toMatchObject(inUse)
    expect((await send(`GET /api/v1/ota/firmware/${firmwareId}`)).body.status).toBe('available')
    expect((await read(id))['aborted_at']).toBeNull()
    // Deprecating it, which stops other deployments from using it, is possible.
    expect(await send(yank, { status: 'deprecated' })).toMatchObject({ status: 200 })
  })

  test('is yanked by force, which ends its deployments first', async () => {
    const { deploy, send, firmwareId, read } = await openDeploying(many(2, 'dies'))
    const { deployment_id: id } = (await deploy({ rollback_on_failure: false })).body
    const yanked = await send(`PATCH /api/v1/ota/firmware/${firmwareId}?force=true`, { status: 'yanked' })
    expect(yanked).toMatchObject({ status: 200, body: { status: 'yanked' } })
    expect(await read(id)).toMatchObject({ status: 'aborted' })
    expect(await deploy()).toMatchObject({ status: 409, body: { code: 'FIRMWARE_YANKED' } })
  })
})

test('a firmware that devices would roll back to is deleted only by force', async () => {
  const { deploy, ends, send } = await openDeploying(many(3))
  await ends((await deploy()).body.deployment_id)
  const { body } = await send('GET /api/v1/ota/firmware?version=1.0')
  const former = `DELETE /api/v1/ota/firmware/${body.data[0].firmware_id}`
  expect(await send(former)).toMatchObject({
    status: 409,
    body: { code: 'FIRMWARE_IN_USE', deployments: [], used_by_devices: 3 },
  })
  expect(await send(`${former}?force=true`)).toMatchObject({ status: 204 })
  expect(await send('POST /api/v1/ota/rollback/d0')).toMatchObject({
    status: 409,
    body: { code: 'NO_PREVIOUS_FIRMWARE' },
  })
})
