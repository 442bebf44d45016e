// Staged deployments: the conditions before the next stage, and before a device starts.
import { describe, expect, test } from 'vitest'
import { many, openDeploying, DEPLOYMENTS_PATH as PATH } from '../testing/deploying.ts'

const stage = (body: Record<string, unknown>, index: number) => Reflect.get(Object(body['stages']), index)
const received = (fleet: readonly { readonly received: readonly unknown[] }[]) =>
  fleet.filter((device) => device.received.length > 0).length

describe('stages', () => {
  test('run one after the other, each with its share of all devices', async () => {
    const { deploy, until, ends, fleet } = await openDeploying(many(10))
    const stages = [
      { count: 1, soak_sec: 100 },
      { percent: 50, soak_sec: 100, max_concurrent: 2 },
      { percent: 100, max_concurrent: 20 },
    ]
    const { body } = await deploy({ strategy: 'stages', stages })
    const id = body.deployment_id
    expect(body).toMatchObject({ strategy: 'stages', max_concurrent: 20, window: 20 })
    expect(body.stages).toMatchObject([
      { total: 1, state: 'running', soak_sec: 100 },
      { total: 4, state: 'waiting', started_at: null },
      { total: 5, state: 'waiting' },
    ])
    await until(id, (now) => stage(now, 0).state === 'soaking')
    expect(received(fleet)).toBe(1)
    const second = await until(id, (now) => stage(now, 1).state === 'running', 20_000)
    expect(second['window']).toBe(2)
    await until(id, (now) => stage(now, 1).state === 'soaking')
    expect(received(fleet)).toBe(5)
    const end = await ends(id, 20_000)
    expect(end).toMatchObject({ status: 'completed', progress: { succeeded: 10 } })
    expect(stage(end, 2)).toMatchObject({ state: 'passed', succeeded: 5 })
  })

  test.each([
    [{}, '/stages'],
    [{ stages: [{ percent: 10 }, { percent: 10 }, {}] }, '/stages/1/percent'],
    [{ stages: [{ percent: 10 }, { percent: 90 }] }, '/stages/1/percent'],
    [{ stages: [{ soak_sec: 1 }, {}] }, '/stages/0/percent'],
    [{ stages: [{ percent: 10, count: 1 }, {}] }, '/stages/0/count'],
    [{ max_concurrent: 5, stages: [{ count: 1, max_concurrent: 6 }, {}] }, '/stages/0/max_concurrent'],
    [{ strategy: 'rolling', stages: [{ count: 1 }, {}] }, '/stages'],
    [
      { stages: [{ count: 1, soak_sec: 0, gate: { metrics: [{ metric: 'a', op: '>', value: 1 }] } }, {}] },
      '/stages/0/gate/metrics',
    ],
  ])('%o are refused at %s', async (more, path) => {
    const { deploy } = await openDeploying(many(2))
    const { status, body } = await deploy({ strategy: 'stages', ...more })
    expect([status, body.errors[0].path]).toEqual([422, path])
  })
})

describe('gates', () => {
  const staged = (gate: object, more: object = {}) => ({
    strategy: 'stages',
    rollback_on_failure: false,
    stages: [{ count: 1, soak_sec: 60, gate, ...more }, {}],
  })

  test('an alert that fires after the update stops it', async () => {
    const { deploy, until, ends, fleet, send, engine } = await openDeploying(many(3))
    const rule = {
      name: 'hot',
      severity: 'critical',
      target: { type: 'all' },
      condition: { kind: 'threshold', metric: 'temp', op: '>', value: 90 },
    }
    expect((await send('POST /api/v1/alerts/rules', rule)).status).toBe(201)
    const { body } = await deploy(staged({ alerts: 'critical' }))
    await until(body.deployment_id, (now) => stage(now, 0).state === 'soaking')
    const first = fleet.find((device) => device.received.length > 0) ?? expect.fail('nobody was told')
    await first.report({ temp: 95 })
    await engine.view(first.id)
    const end = await ends(body.deployment_id)
    expect(end).toMatchObject({ status: 'aborted', status_reason: 'gate_failed' })
    expect(end['evidence']).toMatchObject({ gate: { alerts: 'critical', devices_with_alerts: [first.id] } })
    expect(received(fleet)).toBe(1)
  })

  test.each([
    [{ op: '>=', value: 40 }, 50, 'completed'],
    [{ op: '>=', value: 40 }, 30, 'aborted'],
    [{ op: '>=', value: 0.9, relative_to: 'before' }, 95, 'completed'],
    [{ op: '>=', value: 0.9, relative_to: 'before' }, 80, 'aborted'],
  ])('a metric that has to be %o and is %d leaves it %s', async (wish, value, status) => {
    const { deploy, until, ends, fleet, clock } = await openDeploying(many(2))
    for (const device of fleet) await device.report({ battery: 100 })
    clock.at += 10_000
    const { body } = await deploy(staged({ metrics: [{ metric: 'battery', agg: 'last', ...wish }] }))
    await until(body.deployment_id, (now) => stage(now, 0).state === 'soaking')
    clock.at += 5_000
    for (const device of fleet) await device.report({ battery: value })
    const end = await ends(body.deployment_id, 10_000)
    expect(end['status']).toBe(status)
    if (status === 'completed') return
    const { metric, measured } = Reflect.get(Object(end['evidence']), 'gate')
    expect([metric, measured]).toEqual(['battery', value])
  })

  test('a condition on a metric that no device reports fails, and with pause a person decides', async () => {
    const { deploy, until, ends, send } = await openDeploying(many(2))
    const gate = { metrics: [{ metric: 'nothing', op: '<', value: 1 }] }
    const { body } = await deploy(staged(gate, { on_gate_failure: 'pause' }))
    const id = body.deployment_id
    const paused = await until(id, ({ status }) => status === 'paused', 10_000)
    expect(paused).toMatchObject({ status_reason: 'gate_failed', evidence: { gate: { measured: null } } })
    await send(`POST ${PATH}/${id}/resume`)
    expect((await ends(id))['status']).toBe('completed')
  })
})

describe('preconditions', () => {
  const preconditions = { kind: 'threshold', metric: 'battery', op: '>=', value: 40 }

  test('a device begins once it meets them', async () => {
    const { deploy, until, ends, fleet, send } = await openDeploying(many(2))
    await fleet[0]?.report({ battery: 80 })
    await fleet[1]?.report({ battery: 10 })
    const { body } = await deploy({ preconditions })
    const id = body.deployment_id
    const held = await until(id, ({ progress }) => Reflect.get(Object(progress), 'succeeded') === 1)
    expect(held['held']).toEqual({ precondition: 1 })
    const waiting = await send(`GET ${PATH}/${id}/devices?held=precondition`)
    expect(waiting.body.data).toMatchObject([{ device_id: 'd1', held_reason: 'precondition' }])
    expect(fleet[1]?.received).toEqual([])
    await fleet[1]?.report({ battery: 50 })
    expect((await ends(id))['status']).toBe('completed')
  })

  test('conditions of other kinds are refused', async () => {
    const { deploy } = await openDeploying(many(1))
    const flapping = await deploy({ preconditions: { all: [preconditions, { kind: 'flapping' }] } })
    expect([flapping.status, flapping.body.errors[0].path]).toEqual([422, '/preconditions'])
    const broken = await deploy({ preconditions: { kind: 'threshold', metric: 'battery' } })
    expect([broken.status, broken.body.errors[0].path]).toEqual([422, '/preconditions/op'])
  })
})
