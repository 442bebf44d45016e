import { describe, expect, test } from 'vitest'
import { DeploymentId, Millis } from '../../../schemas/ids.ts'
import { JOB_STATUSES } from '../../../schemas/vocabulary.ts'
import { moveJob } from './job-moves.ts'
import { isOpen, JOB_CAUSES, JOB_MOVES } from './job-table.ts'
import { updateAt as at, notified, UpdatedDevice } from './testing/updated-device.ts'

test('an update goes from the grant to the proof', () => {
  const device = new UpdatedDevice().connect().enlist()
  expect(device.job.status).toBe('pending')
  expect(device.sent()).toEqual([])
  device.grant()
  expect(device.sent()).toEqual(['install 1'])
  device.puback().reports('downloading').reports('downloaded').reports('installing').reports('rebooting')
  device.disconnect().connect().says('2.0')
  expect(device.job.status).toBe('confirming')
  expect(device.looksIn).toBe(10)
  device.look(10)
  expect(device.moves).toEqual([
    ...['pending', 'notified', 'downloading', 'downloaded', 'installing', 'rebooting'],
    ...['confirming', 'succeeded'],
  ])
  expect(device.job).toMatchObject({ isGranted: false, late: false, fromVersion: '1.0', attempt: 1 })
  expect(device.device.firmware).toMatchObject({ firmwareId: 'fw_2', previousVersion: '1.0' })
})

test.each(JOB_STATUSES.flatMap((from) => JOB_CAUSES.map((cause) => [from, cause] as const)))(
  'a job that is %s moves by %s as the table says',
  (from, cause) => {
    const job = { ...notified().job, status: from }
    const moved = moveJob(job, cause, job.since)
    const to = JOB_MOVES[from][cause]
    if (to === undefined) expect(moved).toBe(job)
    else expect(moved.status).toBe(to)
  },
)

test('a job in one of its final statuses takes up no place', () => {
  for (const status of JOB_STATUSES) if (isOpen(status)) expect(JOB_MOVES[status].fail).toBe('failed')
})

describe('reports', () => {
  test('ranks only grow within an attempt', () => {
    const device = at('installing')
    const { device: before } = device
    for (const word of ['accepted', 'downloading', 'verifying', 'downloaded', 'deferred', 'rejected'])
      device.reports(word, { until: '2030-01-01T00:00:00Z' })
    expect(device.device).toBe(before)
  })

  test('those of another attempt, or after the end, change nothing', () => {
    const device = notified()
    const { device: before } = device
    device.reports('installing', { attempt: 2 })
    expect(device.device).toBe(before)
    device.reports('failed')
    const { device: after } = device
    device.reports('succeeded').reports('failed')
    expect(device.device).toBe(after)
  })

  test.each([
    ['UPDATING', 'installing'],
    ['VERIFIED', 'downloaded'],
    ['verifying', 'downloaded'],
    ['Updated', 'confirming'],
    ['success', 'confirming'],
  ])('%s means %s', (word, status) => {
    expect(notified().reports(word).job.status).toBe(status)
  })

  test('a step that was not seen is no obstacle, and any report shows that the message came', () => {
    const device = new UpdatedDevice().connect().enlist().grant().at(5).reports('installing')
    expect(device.job).toMatchObject({ status: 'installing', notifiedAt: 5_000, downloadingAt: undefined })
  })

  test('a device that has it already has succeeded if the versions agree', () => {
    expect(notified().reports('already_installed', { version: 'v2.0 ' }).job.status).toBe('succeeded')
    const other = notified().reports('already_installed')
    expect(other.job).toMatchObject({ status: 'failed', error: { code: 'VERSION_MISMATCH' } })
  })

  test('what it rejects is never tried again', () => {
    const device = notified({ retriesMax: 9 }).reports('rejected', { error: { code: 'LOW_BATTERY' } })
    expect(device.job).toMatchObject({ status: 'rejected', error: { code: 'LOW_BATTERY' }, isGranted: false })
  })

  test('progress alone changes no record', () => {
    const device = at('downloading')
    const { device: before } = device
    device.reports('downloading', { progress: 40 })
    expect(device.device).toBe(before)
    expect(device.reports('downloaded', { progress: 100 }).job.progress).toBe(100)
  })

  test('an expired link is sent again, once a minute', () => {
    const device = at('downloading')
    device.sent()
    device.at(100).reports('refresh').reports('refresh').after(59).reports('refresh')
    expect(device.sent()).toEqual(['install 1'])
    device.after(1).reports('refresh')
    expect(device.sent()).toEqual(['install 1'])
  })
})

describe('deferrals', () => {
  test('a device that defers gives its place back, and the next grant is another attempt', () => {
    const device = at('downloaded').reports('deferred', { retry_after_sec: 600 })
    expect(device.job).toMatchObject({
      status: 'pending',
      isGranted: false,
      waitsFor: 'deferred',
      notBefore: 600_000,
    })
    expect(device.after(600).grant().job).toMatchObject({ attempt: 2, tries: 1, isGranted: true })
  })

  test('not for more than a week, and not for ever', () => {
    const device = notified().reports('deferred', { until: '2030-01-01T00:00:00Z' })
    expect(device.job.notBefore).toBe(7 * 86_400_000)
    for (let i = 1; i < 10; i++) device.grant().puback().reports('deferred', { retry_after_sec: 0 })
    expect(device.job.status).toBe('pending')
    device.grant().puback().reports('deferred', { retry_after_sec: 0 })
    expect(device.job).toMatchObject({ status: 'rejected', error: { code: 'DEFERRED_TOO_OFTEN' } })
  })
})

describe('sending', () => {
  test('comes again after ten seconds, five times, and then failed', () => {
    const device = new UpdatedDevice().connect().enlist().grant()
    device.sent()
    for (let i = 0; i < 4; i++) expect(device.look(10).sent()).toEqual(['install 1'])
    expect(device.look(9).job.status).toBe('pending')
    expect(device.look(1).job).toMatchObject({ status: 'failed', error: { code: 'NOT_ACKNOWLEDGED' } })
  })

  test('comes again in a new session, and seq only grows', () => {
    const device = new UpdatedDevice().connect().enlist().grant()
    device.after(1).disconnect().connect()
    expect(device.sent()).toEqual(['install 1', 'install 1'])
    expect(device.device.firmware.seq).toBe(2)
  })

  test('nothing is sent to a device that does not take the topic', () => {
    const device = new UpdatedDevice().enlist().grant()
    expect(device.sent()).toEqual([])
  })

  test('a grant that comes twice is one', () => {
    const device = new UpdatedDevice().connect().enlist().grant()
    const { device: before } = device
    expect(device.grant(1).device).toBe(before)
    device.puback().reports('deferred', { retry_after_sec: 0 })
    expect(device.grant(1).job.isGranted).toBe(false)
  })

  test('only the job whose turn it is can have a place', () => {
    const device = notified().enlist({ deploymentId: DeploymentId('dep_2') })
    const second = {
      kind: 'ota_grant',
      deploymentId: DeploymentId('dep_2'),
      number: 1,
      notAfter: undefined,
    } as const
    expect(device.request(second).jobOf('dep_2')?.isGranted).toBe(false)
    device.reports('rejected')
    expect(device.request(second).jobOf('dep_2')?.isGranted).toBe(true)
  })
})

describe('restarts', () => {
  test('before it installed: the same attempt is sent again, and the third one is too many', () => {
    const device = at('downloading')
    device.sent()
    device.disconnect().connect().says('1.0')
    expect(device.job).toMatchObject({ status: 'pending', isGranted: true, attempt: 1 })
    expect(device.sent()).toEqual(['install 1'])
    device.reports('downloading').disconnect().connect().says('1.0')
    device.reports('downloading').disconnect().connect().says('1.0')
    expect(device.job).toMatchObject({ status: 'failed', error: { code: 'DEVICE_RESTARTED' } })
  })

  test('where it says boot ids, only another one is a restart', () => {
    const device = new UpdatedDevice()
      .connect()
      .says('1.0', 'a')
      .enlist()
      .grant()
      .puback()
      .reports('downloading')
    device.disconnect().connect().says('1.0', 'a')
    expect(device.job.status).toBe('downloading')
    device.says('1.0', 'b')
    expect(device.job.status).toBe('pending')
  })

  test('on the old version after it said it reboots: it rolled back', () => {
    const device = at('rebooting').disconnect().connect().says('1.0')
    expect(device.job).toMatchObject({ status: 'failed', error: { code: 'ROLLED_BACK_BY_DEVICE' } })
  })

  test('on a third version: a mismatch', () => {
    const device = at('rebooting').disconnect().connect().says('1.5')
    expect(device.job).toMatchObject({ status: 'failed', error: { code: 'VERSION_MISMATCH' } })
  })

  test('while it installs, without a word about it: interrupted after half a minute', () => {
    const device = at('installing').disconnect()
    expect(device.job.status).toBe('rebooting')
    device.connect().says('1.0')
    expect(device.job.status).toBe('rebooting')
    expect(device.looksIn).toBe(30)
    expect(device.look(30).job).toMatchObject({ status: 'failed', error: { code: 'INSTALL_INTERRUPTED' } })
  })

  test('a device that says it installs still only lost its connection', () => {
    const device = at('installing').disconnect().connect().says('1.0').after(20).reports('installing')
    expect(device.look(20).job.status).toBe('rebooting')
    expect(device.looksIn).toBe(580)
  })

  test('with another boot id it is interrupted at once', () => {
    const device = new UpdatedDevice()
      .connect()
      .says('1.0', 'a')
      .enlist()
      .grant()
      .puback()
      .reports('installing')
    device.disconnect().connect().says('1.0', 'b')
    expect(device.job.error?.code).toBe('INSTALL_INTERRUPTED')
  })
})

describe('the proof', () => {
  test('is a session that began after the message, on the version, whatever the device says of it', () => {
    const device = notified().disconnect().connect().says('v2.0')
    expect(device.job.status).toBe('confirming')
    expect(device.look(10).job.status).toBe('succeeded')
  })

  test('a version in the same session proves nothing', () => {
    expect(at('installing').says('2.0').job.status).toBe('installing')
  })

  test('its own word ends the wait', () => {
    expect(at('confirming').reports('succeeded').job.status).toBe('succeeded')
  })

  test('its word without the version is none, in the end', () => {
    const device = at('installing').reports('succeeded')
    expect(device.job).toMatchObject({ status: 'confirming', isProved: false })
    expect(device.look(299).job.status).toBe('confirming')
    const message = expect.stringContaining('expected 2.0, reported 1.0')
    expect(device.look(1).job).toMatchObject({
      status: 'failed',
      error: { code: 'VERSION_MISMATCH', message },
    })
  })

  test('where a report is proof, no restart is needed', () => {
    const device = at('installing', { proof: 'report' }).reports('succeeded', { version: '2.0' })
    expect(device.job.status).toBe('succeeded')
    expect(device.device).toMatchObject({ firmwareVersion: '2.0', firmware: { previousVersion: '1.0' } })
    const wrong = at('installing', { proof: 'report' }).reports('succeeded', { version: '1.0' })
    expect(wrong.job.error?.code).toBe('VERSION_MISMATCH')
  })

  test('where a report is proof, one that does not say the version is none until the version is said', () => {
    const device = at('installing', { proof: 'report' }).reports('succeeded')
    expect(device.job).toMatchObject({ status: 'confirming', isProved: false })
    expect(device.reports('succeeded', { version: '2.0' }).job.status).toBe('succeeded')
    const silent = at('installing', { proof: 'report' }).reports('succeeded').look(300)
    expect(silent.job).toMatchObject({ status: 'failed', error: { code: 'VERSION_MISMATCH' } })
  })

  test('a device that is lost while it confirms begins again, and the third time it is unstable', () => {
    const device = at('confirming')
    device.disconnect()
    expect(device.job.status).toBe('rebooting')
    device.connect().says('2.0').disconnect()
    expect(device.job.status).toBe('rebooting')
    device.connect().says('2.0').disconnect()
    expect(device.job).toMatchObject({ status: 'failed', error: { code: 'UNSTABLE' } })
  })

  test('faults are a loss, too, and nothing is proved while they last', () => {
    const device = at('confirming')
    device.decide({ kind: 'heard', seenAt: device.job.since })
    device.decide({ kind: 'diagnosed', faults: [{ name: 'motor', text: 'motor: hot' }] })
    expect(device.job.status).toBe('rebooting')
    expect(device.says('2.0').job.status).toBe('rebooting')
  })

  test('another version while it confirms is a failure', () => {
    const device = at('confirming').says('1.0')
    expect(device.job.error?.code).toBe('ROLLED_BACK_BY_DEVICE')
  })

  test('counts for a week after the end', () => {
    const device = at('rebooting').disconnect().look(600)
    expect(device.job).toMatchObject({ status: 'timed_out', error: { code: 'TIMED_OUT_REBOOT' } })
    expect(device.after(86_400).connect().says('2.0').job).toMatchObject({ status: 'succeeded', late: true })
    const late = at('rebooting')
      .disconnect()
      .look(600)
      .after(8 * 86_400)
      .connect()
      .says('2.0')
    expect(late.job.status).toBe('timed_out')
  })
})

describe('timers', () => {
  test.each([
    ['notified', 1_800, 'TIMED_OUT_DOWNLOAD'],
    ['downloading', 1_800, 'TIMED_OUT_DOWNLOAD'],
    ['downloaded', 900, 'TIMED_OUT_INSTALL'],
    ['installing', 900, 'TIMED_OUT_INSTALL'],
    ['rebooting', 600, 'TIMED_OUT_REBOOT'],
  ] as const)('a device that stays %s has %i s', (status, sec, code) => {
    const device = at(status)
    expect(device.looksIn).toBe(sec)
    expect(device.look(sec - 1).job.status).toBe(status)
    expect(device.look(1).job).toMatchObject({ status: 'timed_out', error: { code } })
  })

  test('the time for the download runs from the message', () => {
    const device = notified().after(1_000).reports('downloading')
    expect(device.looksIn).toBe(800)
  })

  test('a download that was sent away has the whole time again, and takes no try', () => {
    const deploymentId = DeploymentId('dep_1')
    const device = at('downloading').after(1_000).request({ kind: 'ota_refused', deploymentId })
    expect(device.looksIn).toBe(1_800)
    expect(device.job).toMatchObject({ status: 'downloading', tries: 1, notifiedAt: 0 })
    const later = at('installing').after(500).request({ kind: 'ota_refused', deploymentId })
    expect(later.looksIn).toBe(400)
  })

  test('bytes that were sent add up, whatever became of the job', () => {
    const deploymentId = DeploymentId('dep_1')
    const device = at('downloading').request({ kind: 'ota_sent', deploymentId, bytes: 7 })
    device.reports('failed').request({ kind: 'ota_sent', deploymentId, bytes: 5 })
    expect(device.job).toMatchObject({ status: 'failed', bytesSent: 12 })
  })

  test('a device that cannot be reached for too long has missed it', () => {
    const device = new UpdatedDevice().connect().enlist().disconnect()
    expect(device.looksIn).toBe(604_800)
    expect(device.look(604_800).job).toMatchObject({
      status: 'timed_out',
      error: { code: 'OFFLINE_TOO_LONG' },
    })
  })

  test('being away counts from the start of the deployment', () => {
    const startAt = Millis(1_000_000_000)
    const device = new UpdatedDevice().connect().enlist({ startAt }).disconnect()
    expect(device.looksIn).toBe(1_000_000 + 604_800)
    expect(device.look(1_000_000).job.status).toBe('pending')
    expect(device.look(604_800).job.status).toBe('timed_out')
  })

  test('waiting for a place is not being away', () => {
    const device = new UpdatedDevice().connect().enlist()
    expect(device.looksIn).toBe(Number.POSITIVE_INFINITY)
    expect(device.look(10_000_000).job.status).toBe('pending')
  })
})
