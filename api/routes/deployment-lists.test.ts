// Finding deployments and their devices, and conditional changes.
import { expect, test } from 'vitest'
import { many, openDeploying, DEPLOYMENTS_PATH as PATH } from '../testing/deploying.ts'

test('deployments are found by the device that is part of them', async () => {
  const { deploy, ends, send } = await openDeploying(many(2))
  const one = await deploy({ target: { type: 'device', value: 'd0' } })
  await ends(one.body.deployment_id)
  const both = await deploy({ force: true })
  const of = async (device: string) => {
    const { body } = await send(`GET ${PATH}?device_id=${device}`)
    return body.data.map((each: { deployment_id: string }) => each.deployment_id)
  }
  expect(await of('d1')).toEqual([both.body.deployment_id])
  expect((await of('d0')).sort()).toEqual([one.body.deployment_id, both.body.deployment_id].sort())
  expect(await of('nobody')).toEqual([])
})

test('deployments are filtered by their properties', async () => {
  const { deploy, ends, send, clock } = await openDeploying(many(2), { group: 'yard/a' })
  const first = await deploy({ target: { type: 'device', value: 'd0' } })
  await ends(first.body.deployment_id)
  clock.at += 1_000
  const between = new Date(clock.at).toISOString()
  await deploy({
    target: { type: 'group', value: 'yard' },
    start_at: new Date(clock.at + 60_000).toISOString(),
  })
  const count = async (query: string) => (await send(`GET ${PATH}?${query}`)).body.total
  for (const [query, total] of [
    ['status=scheduled', 1],
    ['status=scheduled,completed', 2],
    ['status=failed', 0],
    ['kind=install', 2],
    ['kind=rollback', 0],
    ['device_type=mqtt_device', 2],
    ['device_type=ros2_robot', 0],
    ['firmware_version=2.0', 2],
    ['firmware_version=1.0', 0],
    ['target_type=group', 1],
    ['target_type=all', 0],
    ['group=yard', 2],
    ['group=other', 0],
    [`from=${between}`, 1],
    [`to=${between}`, 1],
    ['status=scheduled&target_type=device', 0],
  ] as const)
    expect([query, await count(query)]).toEqual([query, total])
})

test('devices of a deployment are listed by their group', async () => {
  const harness = await openDeploying(many(2), { group: 'yard/a' })
  const { body } = await harness.deploy()
  const listed = async (group: string) =>
    (await harness.send(`GET ${PATH}/${body.deployment_id}/devices?group=${group}`)).body.total
  expect(await listed('yard')).toBe(2)
  expect(await listed('yard/a')).toBe(2)
  expect(await listed('yar')).toBe(0)
})

test('an action with an outdated etag changes nothing', async () => {
  const { deploy, send, request, token, read } = await openDeploying(many(1, 'dies'))
  const made = await deploy()
  const id = made.body.deployment_id
  const etag = String((await send(`GET ${PATH}/${id}`)).headers['etag'])
  expect(etag).toBe(`"${made.body.etag}"`)
  const paused = await send(`POST ${PATH}/${id}/pause`)
  const stale = await request(`POST ${PATH}/${id}/cancel`, { token, headers: { 'if-match': etag } })
  expect(stale).toMatchObject({ status: 412, body: { code: 'PRECONDITION_FAILED' } })
  expect((await read(id)).status).toBe('paused')
  const current = { 'if-match': `"${paused.body.etag}"` }
  expect((await request(`POST ${PATH}/${id}/cancel`, { token, headers: current })).status).toBe(200)
})

test('devices are found, and deployed to, by the version that they run', async () => {
  const { send, deploy, ends } = await openDeploying(many(3))
  await ends((await deploy({ target: { type: 'device', value: 'd1' } })).body.deployment_id)
  const listed = async (query: string) =>
    (await send(`GET /api/v1/devices?${query}`)).body.data.map(
      (each: { device_id: string }) => each.device_id,
    )
  expect(await listed('firmware_version=2.0')).toEqual(['d1'])
  expect((await listed('firmware_version=1.0')).sort()).toEqual(['d0', 'd2'])
  expect(await listed('firmware_version=')).toEqual([])
  const rest = await deploy({ target: { type: 'query', value: { firmware_version: '1.0' } } })
  expect(rest.body).toMatchObject({ total: 2, skipped: {} })
})

test('an invalid filter is refused instead of being ignored, which would select every device', async () => {
  const { deploy, read } = await openDeploying(many(2))
  const refusalOf = async (value: unknown) => {
    const { status, body } = await deploy({ target: { type: 'query', value } })
    return [status, body.errors?.map(({ path }: { path: string }) => path)]
  }
  const at = (name: string) => [422, [`/target/value/${name}`]]
  expect(await refusalOf({ parent_id: 'no such/id' })).toEqual(at('parent_id'))
  expect(await refusalOf({ parent_id: 7 })).toEqual(at('parent_id'))
  expect(await refusalOf({ status: 'on' })).toEqual(at('status'))
  expect(await refusalOf({ statuss: 'online' })).toEqual(at('statuss'))
  expect(await refusalOf({ tag: [1] })).toEqual(at('tag'))
  expect(await refusalOf({ type: null })).toEqual(at('type'))
  expect(await refusalOf(['online'])).toEqual([422, ['/target/value']])
  expect(await refusalOf(null)).toEqual([422, ['/target/value']])
  const nobody = await deploy({ target: { type: 'query', value: { parent_id: 'gw' } } })
  expect(nobody).toMatchObject({ status: 422, body: { code: 'EMPTY_TARGET', total: 0 } })
  const all = await deploy({ target: { type: 'query', value: { status: 'online', q: 'D' } } })
  expect((await read(all.body.deployment_id)).total).toBe(2)
})

test('the reasons why jobs wait are counted and shown', async () => {
  const { deploy, until, send, fleet } = await openDeploying(many(3, 'dies'))
  const made = await deploy({ max_concurrent: 1 })
  const id = made.body.deployment_id
  const busy = await until(id, ({ held }) => Reflect.get(Object(held), 'slot') === 2)
  expect(busy['held']).toEqual({ slot: 2 })
  const waiting = await send(`GET ${PATH}/${id}/devices?held=slot`)
  expect(waiting.body.total).toBe(2)
  const heldOf = async () => {
    const { device_id: held } = waiting.body.data[0]
    return (await send(`GET /api/v1/ota/devices/${held}`)).body.jobs
  }
  expect(await heldOf()).toMatchObject([{ status: 'pending', held_reason: 'slot' }])
  await send(`POST ${PATH}/${id}/pause`)
  await until(id, ({ held }) => Reflect.get(Object(held), 'paused') === 2)
  expect(await heldOf()).toMatchObject([{ status: 'pending', held_reason: 'paused' }])
  expect(fleet.filter(({ received: told }) => told.length > 0)).toHaveLength(1)
})

test('a deployment that aborts itself, and its rollbacks, are in the audit with the actor ota', async () => {
  const { deploy, ends, send } = await openDeploying(many(4, 'fails'))
  const made = await deploy({
    strategy: 'canary',
    canary: { count: 1, soak_sec: 0 },
    retry: { max: 0 },
  })
  const id = made.body.deployment_id
  await ends(id)
  const found = async (action: string) => (await send(`GET /api/v1/audit?action=${action}`)).body.data
  expect(await found('ota.abort')).toMatchObject([
    {
      actor: { type: 'ota', id: 'ota' },
      target: `ota/deployments/${id}`,
      detail: { reason: 'success_percent' },
    },
  ])
  expect(await found('ota.rollback')).toMatchObject([{ actor: { type: 'ota' }, outcome: 'success' }])
})

test('finished deployments are removed after the retention time, even if no deployment is open', async () => {
  const harness = await openDeploying(many(1))
  const { deploy, ends, clock } = harness
  const { deployment_id: id } = (await deploy()).body
  await ends(id)
  clock.at += 366 * 86_400_000
  // The token has expired meanwhile, too.
  const { token } = await harness.login('admin')
  for (let i = 0; i < 2_000; i++) {
    clock.at += 1_000
    await new Promise((resolve) => setImmediate(resolve))
    const { status } = await harness.request(`GET ${PATH}/${id}`, { token })
    if (status === 404) return
  }
  throw new Error('it is kept')
})
