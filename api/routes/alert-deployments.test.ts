// Rules about failed deployments.
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ChannelId } from '../../schemas/ids.ts'
import { openHarness } from '../testing/rest.ts'
import { type Behaviour, updatingFleet, uploadFirmware } from '../testing/updating-fleet.ts'
import { webhookChannel } from '../testing/webhook-channel.ts'

async function open(behaviours: Readonly<Record<string, Behaviour>>) {
  const harness = openHarness()
  const { token } = await harness.login('admin')
  await uploadFirmware(harness, '1.0')
  await uploadFirmware(harness, '2.0')
  const fleet = await updatingFleet(harness, behaviours, { group: 'plant/a' })
  const send = (line: string, body?: unknown) => harness.request(line, { token, body })
  const rule = async (of: string, target: object = { type: 'all' }) =>
    (
      await send('POST /api/v1/alerts/rules', {
        name: of,
        target,
        condition: { kind: 'deployment_failed', of },
      })
    ).body.rule_id as string
  const alertsOf = async (ruleId: string) =>
    (await send(`GET /api/v1/alerts?rule_id=${ruleId}&state=firing,recovering`)).body.data
  const turns = async (isSo: () => Promise<boolean>) => {
    for (let i = 0; i < 2_000; i++) {
      if (await isSo()) return
      harness.clock.at += i % 3 === 0 ? 500 : 0
      await setImmediate()
    }
    throw new Error('never so')
  }
  const deploy = async (target: object = { type: 'all' }) => {
    const { body } = await send('POST /api/v1/ota/deployments', {
      ...{ firmware_version: '2.0', target, retry: { max: 0 }, rollback_on_failure: false },
      abort: { min_finished: 1, failure_percent: 1 },
    })
    const path = `GET /api/v1/ota/deployments/${body.deployment_id}`
    await turns(async () => (await send(path)).body.finished_at !== null)
    return (await send(path)).body
  }
  return { ...harness, fleet, send, rule, alertsOf, turns, deploy }
}

test('a job that failed is an alert of its device, and a deployment that was aborted is one of the fleet', async () => {
  const { rule, alertsOf, turns, deploy } = await open({ bad: 'fails' })
  const job = await rule('device')
  const whole = await rule('deployment', { type: 'group', value: 'plant' })
  const elsewhere = await rule('deployment', { type: 'group', value: 'mill' })
  expect((await deploy()).status).toBe('aborted')
  await turns(async () => (await alertsOf(whole)).length === 1)
  expect(await alertsOf(job)).toMatchObject([
    { device_id: 'bad', type: 'deployment_failed', value: '2.0 failed', count: 1 },
  ])
  expect(await alertsOf(whole)).toMatchObject([
    {
      ...{ scope: 'fleet', device_id: null, group: 'plant', type: 'deployment_failed' },
      value: '2.0 aborted (failure_percent)',
    },
  ])
  expect(await alertsOf(elsewhere)).toEqual([])
})

test('further failures while the alert is open are counted, and it ends five minutes after the last one', async () => {
  const { rule, alertsOf, turns, deploy, clock } = await open({ one: 'fails', two: 'fails' })
  const whole = await rule('deployment')
  await deploy({ type: 'device', value: 'one' })
  await turns(async () => (await alertsOf(whole)).length === 1)
  const [first] = await alertsOf(whole)
  await deploy({ type: 'device', value: 'two' })
  await turns(async () => (await alertsOf(whole))[0]?.count === 2)
  expect(await alertsOf(whole)).toMatchObject([{ alert_id: first.alert_id, count: 2 }])
  clock.at += 310_000
  await turns(async () => (await alertsOf(whole)).length === 0)
})

test('an alert muted during an update is announced if the update fails and the alert still fires', async () => {
  const { engine, fleet, send, turns, deploy } = await open({ bad: 'fails' })
  const settings = { ...webhookChannel, isDefault: true, groupWaitSec: 0, groupIntervalSec: 0 }
  await engine.channels({ op: 'create', id: ChannelId('ch_1'), settings, by: 'usr_x' })
  const condition = { kind: 'threshold', metric: 't', op: '>', value: 10 }
  await send('POST /api/v1/alerts/rules', { name: 'hot', target: { type: 'all' }, condition })
  const [device] = fleet
  if (device === undefined) throw new Error('no device')
  const hot = async () => (await send('GET /api/v1/alerts')).body.data[0]
  let during: unknown
  device.whileInstalling = async () => {
    await device.report({ t: 11 })
    during = await hot()
  }
  await deploy()
  expect(during).toMatchObject({ state: 'firing', suppressed_by: ['firmware_update'], notified: [] })
  await turns(async () => (await hot()).notified.length > 0)
  expect(await hot()).toMatchObject({ suppressed_by: [], notified: [{ event: 'fired' }] })
})

test('a rule ignores failures from before it was created', async () => {
  const { rule, alertsOf, turns, deploy, clock } = await open({ bad: 'fails' })
  await deploy()
  clock.at += 1_000
  const whole = await rule('deployment')
  const witness = await rule('deployment')
  let looks = 0
  await turns(async () => ++looks > 30)
  expect([await alertsOf(whole), await alertsOf(witness)]).toEqual([[], []])
})
