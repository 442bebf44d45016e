import { describe, expect, test } from 'vitest'
import { DeploymentId, FirmwareId } from '../../../schemas/ids.ts'
import { isBlocked, runningSha256 } from './firmware-jobs.ts'
import { updateAt as at, notified, UpdatedDevice } from './testing/updated-device.ts'

describe('tries', () => {
  test('what failed is tried again after a while, without a place', () => {
    const device = at('downloading', { retriesMax: 2, backoffSec: [60, 300] }).reports('failed', {
      error: { code: 'DISK_FULL' },
    })
    const { job } = device
    expect(job).toMatchObject({
      status: 'pending',
      isGranted: false,
      waitsFor: 'backoff',
      error: { code: 'DISK_FULL' },
    })
    expect(job.notBefore).toBeGreaterThanOrEqual(48_000)
    expect(job.notBefore).toBeLessThanOrEqual(72_000)
    device.after(80).grant().puback().reports('failed')
    device.after(400).grant().puback().reports('failed')
    expect(device.job).toMatchObject({ status: 'failed', attempt: 3 })
  })

  test('an install that failed is not, unless it was asked for', () => {
    expect(at('installing', { retriesMax: 2 }).reports('failed').job.status).toBe('failed')
    const asked = at('installing', { retriesMax: 2, retryOn: ['install_failed'] }).reports('failed')
    expect(asked.job.status).toBe('pending')
  })

  test('a device that went silent while it changed itself gets no other try', () => {
    const device = at('installing', { retriesMax: 2 }).disconnect().look(600)
    expect(device.job.status).toBe('timed_out')
    expect(at('installing', { retriesMax: 2 }).look(900).job.status).toBe('pending')
  })

  test('what an attempt may have left on the device is no version to go back to', () => {
    const device = at('rebooting', { retriesMax: 2, backoffSec: [60] })
      .connect()
      .look(600)
    expect(device.job).toMatchObject({ status: 'pending', error: { code: 'TIMED_OUT_REBOOT' } })
    device.says('0.0.0-other').after(80).grant()
    expect(device.job).toMatchObject({ attempt: 2, fromVersion: '1.0' })
    const deferred = notified().reports('deferred', { retry_after_sec: 60 })
    expect(deferred.says('1.1').look(60).grant().job).toMatchObject({ attempt: 2, fromVersion: '1.1' })
  })

  test('a person begins it again', () => {
    const device = at('downloading').reports('failed')
    device.request({ kind: 'ota_retry', deploymentId: DeploymentId('dep_1') })
    expect(device.grant().job).toMatchObject({ status: 'pending', isGranted: true, attempt: 2, tries: 1 })
  })
})

describe('cancelling', () => {
  test('a device that may have the message is told', () => {
    const device = at('downloaded')
    device.sent()
    device.request({ kind: 'ota_cancel', deploymentId: DeploymentId('dep_1'), code: 'CANCELLED' })
    expect(device.job).toMatchObject({ status: 'cancelled', isGranted: false, error: { code: 'CANCELLED' } })
    expect(device.sent()).toEqual(['cancel 1'])
    expect(device.look(10).sent()).toEqual(['cancel 1'])
    expect(device.puback().look(10).sent()).toEqual([])
  })

  test('one that installs is left to it', () => {
    const device = at('installing')
    device.request({ kind: 'ota_cancel', deploymentId: DeploymentId('dep_1'), code: 'CANCELLED' })
    expect(device.job.status).toBe('installing')
  })

  test('a decommissioned device has no open job', () => {
    const device = notified().request({ kind: 'decommission' })
    expect(device.job).toMatchObject({ status: 'cancelled', error: { code: 'DECOMMISSIONED' } })
    for (const status of ['installing', 'rebooting', 'confirming'] as const)
      expect(at(status, { rollsBack: true }).request({ kind: 'decommission' }).job).toMatchObject({
        ...{ status: 'cancelled', isGranted: false, rollback: undefined },
        error: { code: 'DECOMMISSIONED', message: `decommissioned while ${status}` },
      })
  })
})

describe('going back', () => {
  const goal = { firmwareId: FirmwareId('fw_1'), version: '1.0', reportsAs: '1.0', sha256: 'cd'.repeat(32) }
  const back = (device: UpdatedDevice, to: typeof goal | undefined = goal) =>
    device.request({ kind: 'ota_roll_back', deploymentId: DeploymentId('dep_1'), goal: to })

  test('what failed late has to go back, and is blocked', () => {
    const device = at('installing', { rollsBack: true }).reports('failed')
    expect(device.job).toMatchObject({ status: 'failed', rollback: 'due', isGranted: false })
    expect(isBlocked(device.device.firmware, FirmwareId('fw_2'), 0)).toBe(true)
    expect(isBlocked(device.device.firmware, FirmwareId('fw_2'), 30 * 86_400_000)).toBe(false)
    const early = at('downloading', { rollsBack: true }).reports('failed')
    expect(early.job.rollback).toBeUndefined()
    expect(early.device.firmware.blocks).toEqual([])
  })

  test('the way back is proved like any update', () => {
    const device = at('installing', { rollsBack: true }).disconnect().connect().says('3.0')
    device.look(30)
    device.sent()
    back(device)
    expect(device.job).toMatchObject({ status: 'rolling_back', isGranted: true })
    expect(device.sent()).toEqual(['rollback 2'])
    device
      .reports('installing', { attempt: 2 })
      .reports('rebooting')
      .disconnect()
      .connect()
      .says('1.0')
      .look(10)
    expect(device.job).toMatchObject({
      status: 'rolled_back',
      isGranted: false,
      error: { code: 'VERSION_MISMATCH' },
    })
  })

  test('it has one more try, and is never rolled back itself', () => {
    const device = back(at('installing', { rollsBack: true }).reports('failed'))
    device.puback().reports('failed')
    expect(device.job.status).toBe('rolling_back')
    device.look(100).puback().reports('failed')
    expect(device.job).toMatchObject({ status: 'rollback_failed', isGranted: false, rollback: undefined })
  })

  test('a device that is away goes back no more once its time is over, and gives back its slot', () => {
    // It succeeded, and the whole deployment goes back while it is away.
    const gone = at('confirming').look(10).disconnect()
    expect(gone.job.status).toBe('succeeded')
    back(gone)
    const isReachable = false
    gone.decide({ kind: 'ota_session', own: undefined, isReachable })
    expect(gone.job).toMatchObject({ status: 'rolling_back', isGranted: true })
    // Its slot is needed by others.
    gone.look(1_800)
    expect(gone.job.back).toMatchObject({ isGranted: false, error: { code: 'TIMED_OUT_DOWNLOAD' } })
    gone.look(100).look(1_800)
    expect(gone.job).toMatchObject({ status: 'rollback_failed', isGranted: false })
    // It goes away after it was told to go back.
    const lost = back(at('confirming').look(10)).disconnect().look(1_800)
    expect(lost.job.back).toMatchObject({ isGranted: false, error: { code: 'TIMED_OUT_DOWNLOAD' } })
  })

  test('a device that is decommissioned meanwhile does not go back', () => {
    const device = back(at('installing', { rollsBack: true }).reports('failed', { error: { code: 'BAD' } }))
    expect(device.request({ kind: 'decommission' }).job).toMatchObject({
      ...{ status: 'rollback_failed', isGranted: false, error: { code: 'BAD' } },
    })
  })

  test('without an image to go back to it cannot', () => {
    const device = at('installing', { rollsBack: true })
      .disconnect()
      .look(600)
      .request({
        kind: 'ota_roll_back',
        deploymentId: DeploymentId('dep_1'),
        goal: undefined,
      })
    expect(device.job).toMatchObject({
      status: 'rollback_failed',
      error: { code: 'NO_PREVIOUS_FIRMWARE', message: expect.stringContaining('TIMED_OUT_REBOOT') },
    })
  })

  test('without an image to go back to it says after which error, also if the device gave no text', () => {
    const device = at('installing', { rollsBack: true })
      .reports('failed', { error: { code: 'BAD', message: '' } })
      .request({ kind: 'ota_roll_back', deploymentId: DeploymentId('dep_1'), goal: undefined })
    expect(device.job.error?.message).toBe('no image of the previous version is known, after BAD')
  })

  test('a device that stays away for too long does not, and its error stays', () => {
    const device = at('installing', { rollsBack: true, offlineTtlSec: 5_000 }).disconnect().look(900)
    expect(device.job).toMatchObject({ status: 'timed_out', rollback: 'due' })
    device.look(5_000)
    expect(device.job).toMatchObject({ status: 'rollback_failed', error: { code: 'TIMED_OUT_REBOOT' } })
  })

  test('a device that came back by itself is not told to', () => {
    const device = at('rebooting', { rollsBack: true })
    device.sent()
    device.disconnect().connect().says('1.0')
    expect(device.job).toMatchObject({ status: 'rolled_back', error: { code: 'ROLLED_BACK_BY_DEVICE' } })
    expect(device.sent()).toEqual([])
    expect(isBlocked(device.device.firmware, FirmwareId('fw_2'), 0)).toBe(true)
  })

  test('the version that failed is none to go back to', () => {
    const device = at('confirming', { rollsBack: true }).says('1.0')
    expect(device.device.firmware.previousVersion).toBeUndefined()
    expect(device.device.firmwareVersion).toBe('1.0')
  })

  test('a version in other words is none to go back to', () => {
    const { device } = new UpdatedDevice().connect().says('1.1').says('v1.1 ').says('1.1')
    expect([device.firmwareVersion, device.firmware.previousVersion]).toEqual(['1.1', '1.0'])
  })

  test('a rollback that was asked for ends rolled back', () => {
    const device = at('confirming', { kind: 'rollback' }).look(10)
    expect(device.job.status).toBe('rolled_back')
    expect(at('installing', { kind: 'rollback' }).reports('failed').job.status).toBe('rollback_failed')
  })
})

describe('the running image', () => {
  const HASH = 'ab'.repeat(32)

  test('the hash of the former image is not that of another version', () => {
    const device = new UpdatedDevice().saysHash('cd'.repeat(32)).says('2.0')
    expect(runningSha256(device.device.firmware)).toBeUndefined()
  })

  test('a job that was proved tells the hash of what runs', () => {
    const device = at('rebooting').disconnect().connect().says('2.0').look(10)
    expect(device.job.status).toBe('succeeded')
    expect(runningSha256(device.device.firmware)).toBe(HASH)
    expect(runningSha256(device.says('3.0').device.firmware)).toBeUndefined()
  })

  test('a device that says the hash and no version runs the version that the hash proves', () => {
    const device = at('rebooting').disconnect().connect().saysHash(HASH).look(10)
    expect(device.job.status).toBe('succeeded')
    expect(device.device.firmwareVersion).toBe('2.0')
    expect(device.device.firmware).toMatchObject({ firmwareId: 'fw_2', previousVersion: '1.0' })
  })

  test('a hash alone proves nothing before the device has restarted', () => {
    expect(at('installing').saysHash(HASH).device.firmwareVersion).toBe('1.0')
  })
})
