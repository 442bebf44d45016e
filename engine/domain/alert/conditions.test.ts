// [contract 5.2] A story for each kind of condition.
import { describe, expect, test } from 'vitest'
import type { RuleRequestBody } from '../../../schemas/alert-rule.ts'
import { Millis } from '../../../schemas/ids.ts'
import { JudgedDevice, ruleOf, START as START_MS } from './testing/judged-device.ts'

type Condition = RuleRequestBody['condition']

const HOT = { kind: 'threshold', metric: 'm', op: '>', value: 10 } as const

function deviceWith(condition: Condition, wish: Partial<RuleRequestBody> = {}): JudgedDevice {
  return new JudgedDevice([ruleOf({ condition, repeat_interval_sec: 604_800, ...wish })])
}
/** What moved, and when. */
const moves = ({ seen }: JudgedDevice) => seen.map(({ at, event }) => [at, event])
const open = ({ alerts }: JudgedDevice) => alerts.open[0]

describe('threshold', () => {
  test.each([
    ['>', 11, 10],
    ['>=', 10, 9],
    ['<', 9, 10],
    ['<=', 10, 11],
    ['==', 10, 11],
    ['!=', 11, 10],
  ] as const)('%s is true of %d and false of %d', (op, yes, no) => {
    const device = deviceWith({ kind: 'threshold', metric: 'm', op, value: 10 })
    device.report(1, { m: no })
    device.report(2, { m: yes })
    device.report(3, { m: no })
    expect(moves(device)).toEqual([
      [2, 'fired'],
      [3, 'resolved'],
    ])
  })

  test.each([
    ['==', 'jammed', 'free'],
    ['!=', 'free', 'jammed'],
  ] as const)('%s compares texts', (op, yes, no) => {
    const device = deviceWith({ kind: 'threshold', metric: 'm', op, value: 'jammed' })
    device.report(1, { m: yes })
    device.report(2, { m: no })
    expect(moves(device)).toEqual([
      [1, 'fired'],
      [2, 'resolved'],
    ])
  })

  test('stays true until the value to clear it is reached', () => {
    const device = deviceWith({ ...HOT, clear_value: 8 })
    for (const [at, m] of [11, 9, 8].entries()) device.report(at, { m })
    expect(moves(device)).toEqual([
      [0, 'fired'],
      [2, 'resolved'],
    ])
  })

  test('a point that is older than the newest decides nothing', () => {
    const device = deviceWith(HOT)
    device.report(5, { m: 9 })
    device.report(6, { m: 99 }, 4)
    expect(moves(device)).toEqual([])
    device.report(7, { m: 11 })
    device.report(8, { m: 1 }, 6)
    expect(moves(device)).toEqual([[7, 'fired']])
  })
})

test('range is true outside, and until the value is back by its margin', () => {
  const device = deviceWith({ kind: 'range', metric: 'm', min: 10, max: 20, clear_margin: 2 })
  for (const [at, m] of [15, 21, 19, 18, 9, 11, 12].entries()) device.report(at, { m })
  expect(moves(device)).toEqual([
    [1, 'fired'],
    [3, 'resolved'],
    [4, 'fired'],
    [6, 'resolved'],
  ])
})

describe('absence', () => {
  test('counts from the last report of its metric, and ends with the next', () => {
    const device = deviceWith({ kind: 'absence', metric: 'm', for_sec: 5 }, { inhibit_when_offline: false })
    device.report(2, { m: 1 })
    device.report(4, { n: 1 })
    device.passTo(10)
    device.report(11, { m: 1 })
    expect(moves(device)).toEqual([
      [7, 'fired'],
      [11, 'resolved'],
    ])
  })

  test('a device that never reported is absent from the activation of the rule on', () => {
    const device = deviceWith({ kind: 'absence', for_sec: 5 })
    device.passTo(10)
    expect(moves(device)).toEqual([[5, 'fired']])
  })

  test('counts from the end of a pause of the process, in which nobody could be heard', () => {
    const device = deviceWith({ kind: 'absence', for_sec: 60 })
    device.report(10, { m: 1 })
    device.wake(310)
    device.passTo(369)
    expect(moves(device)).toEqual([])
    device.passTo(370)
    expect(moves(device)).toEqual([[370, 'fired']])
  })

  test('ends with any report of its metric, also with one that is late', () => {
    const device = deviceWith({ kind: 'absence', metric: 'm', for_sec: 10 })
    device.report(0, { m: 1 })
    device.report(8, { m: 1 }, -5)
    device.passTo(30)
    device.report(31, { m: 1 }, -4)
    expect(moves(device)).toEqual([
      [18, 'fired'],
      [31, 'resolved'],
    ])
  })

  test('leaves out devices in provisioning', () => {
    const device = deviceWith({ kind: 'absence', for_sec: 5 })
    device.change(0, { status: 'provisioning' })
    device.passTo(20)
    expect(moves(device)).toEqual([])
  })
})

test('state is about the status, the connection, or both', () => {
  const device = deviceWith({ kind: 'state', in: ['error', 'offline'], connected: true })
  device.change(1, { status: 'error' })
  device.connect(2, true)
  device.change(3, { status: 'offline' })
  device.change(4, { status: 'online' })
  expect(moves(device)).toEqual([
    [3, 'fired'],
    [4, 'resolved'],
  ])
})

test('flapping is true while the connection comes and goes, and ends without a message', () => {
  const device = deviceWith({ kind: 'flapping' })
  device.look(1)
  device.flap(2, 300)
  device.flap(200, 500)
  device.passTo(501)
  expect(moves(device)).toEqual([
    [2, 'fired'],
    [500, 'resolved'],
  ])
})

test('rate compares the change per second, once two values lie half a window apart', () => {
  const device = deviceWith({ kind: 'rate', metric: 'm', op: '>', per_sec: 2, window_sec: 10 })
  device.report(0, { m: 0 })
  device.report(4, { m: 40 })
  expect(moves(device)).toEqual([])
  device.report(5, { m: 41 })
  expect(open(device)).toMatchObject({ value: 8.2, threshold: 2 })
  device.report(20, { m: 42 })
  expect(moves(device)).toEqual([
    [5, 'fired'],
    [20, 'resolved'],
  ])
})

test('repeat is true once its condition became true so often, and until that is long ago', () => {
  const device = deviceWith({ kind: 'repeat', condition: HOT, times: 3, within_sec: 60 })
  for (const at of [0, 10, 20]) {
    device.report(at, { m: 11 })
    device.report(at + 5, { m: 9 })
  }
  device.passTo(100)
  expect(moves(device)).toEqual([
    [20, 'fired'],
    [60, 'resolved'],
  ])
})

test('out_of_sync is true while the shadow has had a delta for so long', () => {
  const device = deviceWith({ kind: 'out_of_sync', for_sec: 5 })
  const { shadow } = device.device
  const at = Millis(START_MS + 2_000)
  device.change(2, { shadow: { ...shadow, desired: { led: 'on' }, desiredTimes: { led: at } } })
  device.passTo(9)
  device.change(10, { shadow })
  expect(moves(device)).toEqual([
    [7, 'fired'],
    [10, 'resolved'],
  ])
})

test.each(['log', 'command_failed', 'dead_letter', 'deployment_failed'] as const)(
  '%s is true at its moment: it recovers five minutes after the last one, and counts',
  (kind) => {
    const device = deviceWith(
      kind === 'log'
        ? { kind, level: 'error' }
        : kind === 'deployment_failed'
          ? { kind, of: ['device'] }
          : { kind },
    )
    device.happen(1, kind, 'x')
    device.happen(100, kind, 'y')
    device.passTo(401)
    expect(moves(device)).toEqual([
      [1, 'fired'],
      [400, 'resolved'],
    ])
    expect(device.alerts.resolved).toMatchObject([{ type: kind, count: 2 }])
  },
)

test('heartbeat fires at once and repeats for ever', () => {
  const device = deviceWith({ kind: 'heartbeat' }, { repeat_interval_sec: 60 })
  device.passTo(130)
  expect(moves(device)).toEqual([
    [0, 'fired'],
    [60, 'repeat'],
    [120, 'repeat'],
  ])
})

test('all, any and not: leaves keep their own hysteresis', () => {
  const cold = { kind: 'threshold', metric: 'n', op: '<', value: 0 } as const
  const all = deviceWith({ all: [{ ...HOT, clear_value: 5 }, { not: cold }] })
  all.report(1, { m: 11, n: -1 })
  all.report(2, { m: 7, n: 1 })
  all.report(3, { m: 5 })
  expect(moves(all)).toEqual([
    [2, 'fired'],
    [3, 'resolved'],
  ])
  const any = deviceWith({ any: [HOT, cold] })
  any.report(1, { n: -1 })
  any.report(2, { m: 11 })
  any.report(3, { n: 1 })
  any.report(4, { m: 1 })
  expect(moves(any)).toEqual([
    [1, 'fired'],
    [4, 'resolved'],
  ])
})

test('with a condition to clear it an alert stays until that is true', () => {
  const device = deviceWith(HOT, { clear: { kind: 'threshold', metric: 'reset', op: '==', value: 1 } })
  device.report(1, { m: 11, reset: 0 })
  device.report(2, { m: 1 })
  device.report(3, { reset: 1 })
  expect(moves(device)).toEqual([
    [1, 'fired'],
    [3, 'resolved'],
  ])
})

test('levels move one alert up and down; up takes the acknowledgement away and tells, down does neither', () => {
  const device = deviceWith(HOT, {
    levels: [
      { severity: 'warning', value: 10 },
      { severity: 'critical', value: 20, clear_value: 18 },
    ],
  })
  device.report(1, { m: 11 })
  device.act(2, { kind: 'ack', comment: undefined })
  device.report(3, { m: 21 })
  expect(open(device)).toMatchObject({ severity: 'critical', acknowledgedAt: undefined })
  device.act(4, { kind: 'ack', comment: undefined })
  device.report(5, { m: 19 })
  device.report(6, { m: 17 })
  expect(open(device)).toMatchObject({ severity: 'warning', highestSeverity: 'critical' })
  expect(open(device)?.acknowledgedAt).toBeDefined()
  const levels = device.seen.filter(({ event }) => event === 'fired' || event === 'severity')
  expect(levels.map(({ at, severity, notice }) => [at, severity, notice])).toEqual([
    [1, 'warning', 'fired'],
    [3, 'critical', 'fired'],
    [6, 'warning', undefined],
  ])
  expect(new Set(device.moves.map(({ alert }) => alert.id)).size).toBe(1)
})

describe('without the metric for no_data_after_sec', () => {
  const silent = (no_data: 'keep' | 'ok' | 'alert', first: number | undefined) => {
    const device = deviceWith(HOT, { no_data, no_data_after_sec: 30 })
    if (first !== undefined) device.report(0, { m: first })
    device.passTo(60)
    return device
  }

  test('keep holds the state', () => {
    expect(moves(silent('keep', 11))).toEqual([[0, 'fired']])
    expect(moves(silent('keep', 9))).toEqual([])
  })

  test('ok counts as false', () => {
    expect(moves(silent('ok', 11))).toEqual([
      [0, 'fired'],
      [30, 'resolved'],
    ])
    expect(moves(silent('ok', undefined))).toEqual([])
  })

  test('alert counts as true, of the type no_data, also where the metric was never seen', () => {
    expect(moves(silent('alert', 9))).toEqual([[30, 'fired']])
    const never = silent('alert', undefined)
    expect(moves(never)).toEqual([[30, 'fired']])
    expect(open(never)).toMatchObject({ type: 'no_data' })
    never.report(61, { m: 9 })
    expect(moves(never).at(-1)).toEqual([61, 'resolved'])
  })
})
