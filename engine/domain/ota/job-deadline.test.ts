import { describe, expect, test } from 'vitest'
import { updateAt as at, notified, UpdatedDevice } from './testing/updated-device.ts'

describe('a timer that ran while the service was away', () => {
  test.each([
    ['notified', 'TIMED_OUT_DOWNLOAD'],
    ['downloading', 'TIMED_OUT_DOWNLOAD'],
    ['downloaded', 'TIMED_OUT_INSTALL'],
    ['installing', 'TIMED_OUT_INSTALL'],
    ['rebooting', 'TIMED_OUT_REBOOT'],
  ] as const)('gives a device that was %s a minute to be heard again', (status, code) => {
    const device = at(status).absence(2_000)
    expect(device.looksIn).toBe(60)
    expect(device.look(59).job.status).toBe(status)
    expect(device.look(1).job).toMatchObject({ status: 'timed_out', error: { code } })
  })

  test('gives it no more than the whole wait again', () => {
    expect(at('rebooting', { rebootSec: 5 }).absence(300).looksIn).toBe(5)
  })

  test('runs on as it did if it has longer to go', () => {
    expect(at('rebooting').absence(100).looksIn).toBe(500)
  })

  test('is as long as ever if it began afterwards', () => {
    const device = new UpdatedDevice().absence(100).connect().enlist({ rebootSec: 5 }).grant().puback()
    expect(device.reports('rebooting').looksIn).toBe(5)
  })

  test('leaves the proof to what the device said meanwhile', () => {
    const claiming = at('rebooting').reports('succeeded').absence(2_000).look()
    expect(claiming.job).toMatchObject({ status: 'confirming', isProved: false })
    expect(claiming.disconnect().connect().says('2.0').job).toMatchObject({ isProved: true })
  })

  test('takes no proved device as well before its end could be heard', () => {
    const device = at('confirming').absence(300).look()
    expect(device.job.status).toBe('confirming')
    expect(device.disconnect().job).toMatchObject({ status: 'rebooting', losses: 1 })
  })

  test('suspects no device that may have said that it installs still', () => {
    const device = at('installing').disconnect().connect().says('1.0').absence(300).look()
    expect(device.looksIn).toBe(30)
    expect(device.reports('installing').job).toMatchObject({ status: 'rebooting', suspect: undefined })
  })

  test('waits for the acknowledgement of a message that was sent often enough', () => {
    const device = new UpdatedDevice().connect().enlist().grant()
    for (let sends = 1; sends < 5; sends++) device.look(10)
    expect(device.absence(300).look().job.status).toBe('pending')
    expect(device.puback().job.status).toBe('notified')
  })

  test('waits for a device that was away', () => {
    const device = notified({ offlineTtlSec: 100 }).reports('deferred', { retry_after_sec: 1 }).disconnect()
    expect(device.absence(300).look().job.status).toBe('pending')
    expect(device.look(60).job).toMatchObject({ status: 'timed_out', error: { code: 'OFFLINE_TOO_LONG' } })
  })
})

describe('a clock that is set forwards in an update', () => {
  test.each([
    ['notified', 1_800],
    ['downloading', 1_800],
    ['downloaded', 900],
    ['installing', 900],
    ['rebooting', 600],
  ] as const)('takes no time from a device that was %s', (status, waits) => {
    const device = at(status).after(100).leap(3_600)
    expect(device.look().job).toMatchObject({ status, error: undefined })
    expect(device.looksIn).toBe(waits - 100)
    expect(device.look(waits - 101).job.status).toBe(status)
    expect(device.look(1).job.status).toBe('timed_out')
  })

  test('proves no device that has not stayed well for long enough', () => {
    const device = at('confirming').after(4).leap(3_600).look()
    expect([device.job.status, device.looksIn]).toEqual(['confirming', 6])
    expect(device.look(6).job.status).toBe('succeeded')
  })

  test('counts as often as it happens, and not for what began afterwards', () => {
    const device = at('downloading').leap(3_600).after(10).leap(1_000).after(10)
    expect(device.looksIn).toBe(1_780)
    expect(device.reports('installing').looksIn).toBe(900)
  })

  test('and is set right again keeps what is left as it was', () => {
    const device = at('rebooting').after(100).leap(3_600).leap(-3_600)
    expect(device.looksIn).toBe(500)
  })
})
