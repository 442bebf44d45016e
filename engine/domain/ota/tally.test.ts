import { expect, test } from 'vitest'
import { DeploymentId, type DeviceId, Millis } from '../../../schemas/ids.ts'
import { countOf } from './deployment-count.ts'
import { NO_FIRMWARE } from './firmware-part.ts'
import { planGrants, type RunningDeployment } from './grant-plan.ts'
import { newJob } from './job.ts'
import { failedGate } from './stage-gate.ts'
import { emptyTally, heldAt, type JobTally, Tallies } from './tally.ts'
import { deployment } from './testing/deployment.ts'
import { notified, plan, type UpdatedDevice, updateAt } from './testing/updated-device.ts'

const stateOf = ({ device }: UpdatedDevice) => ({
  deviceId: device.id,
  firmware: device.firmware,
  firmwareVersion: device.firmwareVersion,
  status: 'online' as const,
  parentId: undefined,
  isConnected: true,
  takesOta: true,
  unmet: [],
  alertsAt: {},
})

test('a job that was put off waits until the time is over, and can start then', () => {
  const device = notified().reports('deferred', { retry_after_sec: 60 })
  const state = stateOf(device)
  expect(heldAt(device.job, state, Millis(59_000))).toBe('deferred')
  expect(heldAt(device.job, state, Millis(60_000))).toBeUndefined()
  const tallies = new Tallies([DeploymentId('dep_1')], Millis(60_000))
  tallies.add(state, 0)
  expect(tallies.all()).toMatchObject([{ ready: 1, held: {}, candidates: [{ deviceId: device.device.id }] }])
})

test('a device that was decommissioned after it succeeded is no longer looked after, and does not go back', () => {
  const device = updateAt('confirming').look(10)
  const tallyOf = (status: 'offline' | 'decommissioned') => {
    const tallies = new Tallies([DeploymentId('dep_1')], Millis(60_000))
    tallies.add({ ...stateOf(device), status, isConnected: false }, 0)
    return tallies.all()
  }
  const { id } = device.device
  expect(tallyOf('offline')).toMatchObject([{ succeeded: 1, proved: [{ deviceId: id }], offline: [id] }])
  expect(tallyOf('decommissioned')).toMatchObject([{ succeeded: 1, proved: [], offline: [] }])
})

test('devices that wait for their gateway do not hold up the others, however many they are', () => {
  const gateway = 'gateway' as DeviceId
  const device = notified()
  const job = newJob(plan(), { createdAt: Millis(0), fromVersion: undefined, awaySince: undefined })
  const ready = (name: string, parentId?: DeviceId) => ({
    ...stateOf(device),
    ...{ deviceId: name as DeviceId, firmware: { ...NO_FIRMWARE, jobs: [job] }, parentId },
  })
  const tallies = new Tallies([DeploymentId('dep_1')], Millis(60_000))
  for (let n = 0; n < 2_000; n++) tallies.add(ready(`sub-${n}`, gateway), 0)
  for (let n = 0; n < 2_000; n++) tallies.add(ready(`other-${n}`), 0)
  const running = (name: string, tally: Partial<JobTally>): RunningDeployment => {
    const each = deployment({ id: DeploymentId(name) })
    const count = countOf(each, [{ ...emptyTally(each.id, 0), ...tally }])
    return { deployment: each, count, window: 10, startsLeft: 100 }
  }
  const busy = { holders: [{ deviceId: gateway, parentId: undefined, grants: 1, isDownloading: true }] }
  const [found] = tallies.all()
  const { grants } = planGrants([running('dep_0', busy), running('dep_1', found ?? {})], {
    ...{ downloadsMax: 100, now: Millis(60_000) },
  })
  expect([found?.ready, found?.candidates.length, grants.length]).toEqual([4_000, 1_000, 10])
})

test('a gate goes by all devices that are not well after their update, however many it allows', () => {
  const device = updateAt('confirming').look(10)
  const tallies = new Tallies([DeploymentId('dep_1')], Millis(60_000))
  for (let n = 0; n < 2_000; n++) {
    const name = { deviceId: `device-${n}` as DeviceId }
    tallies.add({ ...stateOf(device), ...name, status: n < 1_200 ? 'offline' : 'error' }, 0)
  }
  const [stage] = countOf(deployment(), tallies.all()).stages
  const gateOf = (maxOffline: number, inError: number) =>
    stage && failedGate(stage, { maxOffline, inError, alerts: undefined, metrics: [] })
  expect(gateOf(1_199, 800)).toMatchObject({ max_offline: 1_199 })
  expect(gateOf(1_200, 799)).toMatchObject({ in_error: 799 })
  expect(gateOf(1_200, 800)).toBeUndefined()
})

test('the devices named to go back with their deployment are not always the first of many', () => {
  const device = updateAt('confirming').look(10)
  const tallies = new Tallies([DeploymentId('dep_1')], Millis(60_000))
  for (let n = 0; n < 4_000; n++) tallies.add({ ...stateOf(device), deviceId: `device-${n}` as DeviceId }, 0)
  const named = tallies.all()[0]?.proved.map(({ deviceId }) => Number(deviceId.slice('device-'.length))) ?? []
  expect([named.length, Math.max(...named) > 2_000]).toEqual([1_000, true])
})
