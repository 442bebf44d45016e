import { expect, test } from 'vitest'
import { DeploymentId, Millis } from '../../../schemas/ids.ts'
import { heldAt, Tallies } from './tally.ts'
import { notified, type UpdatedDevice } from './testing/updated-device.ts'

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
