import { expect, test } from 'vitest'
import { DeploymentId, Millis } from '../../../schemas/ids.ts'
import { heldAt, Tallies } from './tally.ts'
import { notified, type UpdatedDevice, updateAt } from './testing/updated-device.ts'

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
