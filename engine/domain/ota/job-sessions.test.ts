import { describe, expect, test } from 'vitest'
import { updateAt as at, type UpdatedDevice } from './testing/updated-device.ts'

describe('a session that ended with the service', () => {
  test('is no loss of a device that confirms: it begins its wait anew, however often it happens', () => {
    const device = at('confirming')
    for (let deaths = 0; deaths < 5; deaths++) {
      device.after(8).serviceDies().connect()
      expect(device.job).toMatchObject({ status: 'confirming', losses: 0 })
      expect(device.looksIn).toBe(10)
    }
    expect(device.look(10).job.status).toBe('succeeded')
  })

  test('is none either if the device says the same boot id afterwards', () => {
    const device = at('confirming').says('2.0', 'boot-1').serviceDies().connect().says('2.0', 'boot-1')
    expect(device.job).toMatchObject({ status: 'confirming', losses: 0 })
  })

  test('hides no restart that the device tells of: the third one is unstable', () => {
    const device = at('confirming').says('2.0', 'boot-1')
    device.serviceDies().connect().says('2.0', 'boot-2')
    expect(device.job).toMatchObject({ status: 'confirming', losses: 1 })
    device.serviceDies().connect().says('2.0', 'boot-3')
    device.serviceDies().connect().says('2.0', 'boot-4')
    expect(device.job).toMatchObject({ status: 'failed', error: { code: 'UNSTABLE' } })
  })

  test('counts once if the service saw the end and the device tells of the restart, too', () => {
    const device = at('confirming').says('2.0', 'boot-1').disconnect().connect().says('2.0', 'boot-2')
    expect(device.job).toMatchObject({ status: 'confirming', losses: 1 })
  })

  test('proves nothing: a device that does not come back has not succeeded', () => {
    const device = at('confirming').serviceDies().look(10)
    expect(device.job).toMatchObject({ status: 'rebooting', losses: 0, isProved: false })
    expect(device.look(600).job).toMatchObject({ status: 'timed_out', error: { code: 'TIMED_OUT_REBOOT' } })
  })

  test('leaves a device that installs at its work', () => {
    const device = at('installing').serviceDies().connect()
    expect(device.job.status).toBe('installing')
    expect(device.says('2.0').job.status).toBe('confirming')
  })

  test('takes no try from a device that installs in silence', () => {
    const device = at('installing', { retriesMax: 1 })
    for (let deaths = 0; deaths < 5; deaths++) device.after(40).serviceDies().connect().says('1.0').look(40)
    expect(device.job).toMatchObject({ status: 'installing', attempt: 1, error: undefined })
  })
})

test('a device that said anything of its attempt in its new session is not suspected by its heartbeats', () => {
  const [before, after] = [at('installing').disconnect().connect(), at('installing').disconnect().connect()]
  before.reports('downloaded').says('1.0')
  after.says('1.0').reports('downloaded')
  for (const device of [before, after]) {
    for (let beats = 0; beats < 3; beats++) device.after(20).says('1.0').look()
    expect(device.job).toMatchObject({ status: 'rebooting', error: undefined })
  }
})

describe('a device that downloads while the service dies again and again', () => {
  test('is sent the same attempt each time, and has not restarted too often', () => {
    const device = at('downloading')
    for (let deaths = 0; deaths < 5; deaths++) {
      device.sent()
      device.after(8).serviceDies().connect().says('1.0')
      expect(device.sent()).toEqual(['install 1'])
      expect(device.puback().reports('downloading').job).toMatchObject({ status: 'downloading', restarts: 0 })
    }
    expect(device.reports('installing').job).toMatchObject({ attempt: 1, error: undefined })
  })

  test('has restarted if it says so by another boot id', () => {
    const device = at('downloading').says('1.0', 'boot-1')
    for (const boot of ['boot-2', 'boot-3', 'boot-4']) {
      device.puback().reports('downloading')
      device.serviceDies().connect().says('1.0', boot)
    }
    expect(device.job).toMatchObject({ status: 'failed', error: { code: 'DEVICE_RESTARTED' } })
  })

  test('counts as restarted where its own session was seen to end meanwhile', () => {
    const device = at('downloading').disconnect().serviceDies().connect().says('1.0')
    expect(device.job).toMatchObject({ status: 'pending', restarts: 1 })
    device.puback().reports('downloading').serviceDies().connect().says('1.0')
    expect(device.job).toMatchObject({ status: 'pending', restarts: 1 })
  })
})

test('a session that takes the place of a known one is a loss', () => {
  const device = at('confirming').connect()
  expect(device.job).toMatchObject({ status: 'rebooting', losses: 1 })
})

describe('a device that restarted before it installed, and was not told again yet', () => {
  /** It keeps reports that were not acknowledged, and sends them again when it is back. */
  const back = (way: 'disconnect' | 'serviceDies' = 'disconnect') => {
    const device = at('downloading').says('1.0', 'boot-1')[way]().connect()
    device.sent()
    device.takesOta = false
    return way === 'disconnect' ? device.says('1.0', 'boot-2') : device.says('1.0')
  }

  test.each(['accepted', 'downloading', 'downloaded', 'installing', 'rebooting'])(
    'has not taken up its work by saying again how far it was: %s',
    (word) => {
      for (const way of ['disconnect', 'serviceDies'] as const) {
        const device = back(way).reports(word, { attempt: 1 })
        expect(device.job).toMatchObject({ status: 'pending', restarts: way === 'disconnect' ? 1 : 0 })
        device.takesOta = true
        expect(device.look().sent()).toEqual(['install 1'])
        expect(device.reports('downloading', { attempt: 1 }).job.status).toBe('downloading')
      }
    },
  )

  test('may say how it ended', () => {
    expect(back().reports('rejected', { attempt: 1 }).job.status).toBe('rejected')
  })
})

describe('a device that restarted unseen, and was told again before its reports of earlier came', () => {
  /** The service was away while it restarted; it runs another version now, and may begin again at any time. */
  const toldAgain = () => {
    const device = at('downloading').serviceDies().connect().says('0.9')
    for (const word of ['downloaded', 'installing', 'rebooting']) device.reports(word)
    return device
  }

  test('may be about to restart: what it says of its version until then decides nothing', () => {
    const device = toldAgain()
    for (let beats = 0; beats < 25; beats++) device.after(20).says('0.9').look()
    expect(device.job).toMatchObject({ status: 'rebooting', attempt: 1, error: undefined })
    expect(device.disconnect().connect().says('2.0').job.status).toBe('confirming')
  })

  test.each([
    ['its next session', (device: UpdatedDevice) => device.disconnect().connect().says('0.9')],
    [
      'another boot id',
      (device: UpdatedDevice) => device.says('0.9', 'boot-1').after(20).says('0.9', 'boot-2'),
    ],
  ] as const)('is judged by %s', (_, restart) => {
    expect(restart(toldAgain()).job).toMatchObject({ status: 'failed', error: { code: 'VERSION_MISMATCH' } })
  })
})
