// Several jobs of one device: whose turn it is.
import { describe, expect, test } from 'vitest'
import { DeploymentId, FirmwareId, Millis } from '../../../schemas/ids.ts'
import { activeJob } from './firmware-jobs.ts'
import { heldAt } from './tally.ts'
import { updateAt as at, UpdatedDevice } from './testing/updated-device.ts'

const HOUR_SEC = 3_600
const SECOND = DeploymentId('dep_2')

const turn = (device: UpdatedDevice) =>
  activeJob(device.device.firmware, Millis(device.now * 1_000))?.plan.deploymentId

const grant = (device: UpdatedDevice, id = SECOND) =>
  device.request({ kind: 'ota_grant', deploymentId: id, number: 1, notAfter: undefined })

const held = ({ device, now }: UpdatedDevice) =>
  device.firmware.jobs.map((job) => {
    const about = { deviceId: device.id, parentId: undefined, isConnected: true, takesOta: true, unmet: [] }
    const { firmware, firmwareVersion } = device
    const state = { ...about, firmware, firmwareVersion, status: 'online' as const, alertsAt: {} }
    return heldAt(job, state, Millis(now * 1_000))
  })

describe('a job that begins later', () => {
  /** The first job begins after an hour, and the second one was made after it. */
  const both = () =>
    new UpdatedDevice()
      .connect()
      .enlist({ startAt: Millis(HOUR_SEC * 1_000) })
      .after(60)
      .enlist({ deploymentId: SECOND })

  test('holds up no other job before its time, and cannot begin', () => {
    const device = both()
    expect(turn(device)).toBe('dep_2')
    // Its deployment holds the first one.
    expect(held(device)).toEqual([undefined, undefined])
    expect(device.grant(1).job.isGranted).toBe(false)
    expect(grant(device).jobOf('dep_2')?.isGranted).toBe(true)
    expect(held(device)).toEqual([undefined, undefined])
  })

  test('waits from then on for those that came before that time', () => {
    const device = both().at(HOUR_SEC)
    expect(held(device)).toEqual(['queued', undefined])
    expect(device.grant(1).job.isGranted).toBe(false)
    grant(device)
    expect(held(device)).toEqual(['queued', undefined])
    device.request({ kind: 'ota_cancel', deploymentId: SECOND, code: 'CANCELLED' })
    expect(held(device)).toEqual([undefined, undefined])
    expect(device.grant(1).job.isGranted).toBe(true)
  })

  test('comes before those that were made after that time', () => {
    const device = both().at(HOUR_SEC + 1)
    device.request({ kind: 'ota_cancel', deploymentId: SECOND, code: 'CANCELLED' })
    device.enlist({ deploymentId: DeploymentId('dep_3') })
    expect(held(device)).toEqual([undefined, undefined, 'queued'])
    expect(turn(device)).toBe('dep_1')
  })

  test('keeps its turn when the clock is set back to before its time', () => {
    const device = new UpdatedDevice().connect().enlist({ startAt: Millis(HOUR_SEC * 1_000) })
    device.at(HOUR_SEC).grant().at(60).enlist({ deploymentId: SECOND })
    expect(turn(device)).toBe('dep_1')
    expect(grant(device).jobOf('dep_2')?.isGranted).toBe(false)
  })
})

test('a job that a person has tried again waits for the one that the device is at work on', () => {
  const device = at('downloading').reports('failed').enlist({ deploymentId: SECOND })
  grant(device).request({ kind: 'ota_retry', deploymentId: DeploymentId('dep_1') })
  expect(held(device)).toEqual(['queued', undefined])
  expect(device.grant().job.isGranted).toBe(false)
})

describe('a device that has to go back', () => {
  const goal = { firmwareId: FirmwareId('fw_1'), version: '1.0', reportsAs: '1.0', sha256: 'cd'.repeat(32) }
  const goesBack = (device: UpdatedDevice) =>
    device.request({ kind: 'ota_roll_back', deploymentId: DeploymentId('dep_1'), goal })

  test('does so before it begins the next update', () => {
    const device = at('installing', { rollsBack: true }).reports('failed').enlist({ deploymentId: SECOND })
    expect(held(device)).toEqual([undefined, 'queued'])
    expect(grant(device).jobOf('dep_2')?.isGranted).toBe(false)
    expect(goesBack(device).job.status).toBe('rolling_back')
    device.puback().reports('installing').reports('rebooting').disconnect().connect().says('1.0').look(10)
    expect(device.job.status).toBe('rolled_back')
    expect(grant(device).jobOf('dep_2')?.isGranted).toBe(true)
  })

  test('ends first what it is at work on', () => {
    const device = at('confirming').look(10).enlist({ deploymentId: SECOND })
    expect(device.job.status).toBe('succeeded')
    grant(device)
    expect(goesBack(device).job.status).toBe('succeeded')
    device.request({ kind: 'ota_cancel', deploymentId: SECOND, code: 'CANCELLED' })
    expect(goesBack(device).job.status).toBe('rolling_back')
  })
})
