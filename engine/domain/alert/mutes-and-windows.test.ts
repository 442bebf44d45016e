// [contract 5.1, 5.3] When a rule is judged, and what keeps its alert from being told of.
import { describe, expect, test } from 'vitest'
import type { RuleRequestBody } from '../../../schemas/alert-rule.ts'
import { JudgedDevice, ruleOf } from './testing/judged-device.ts'

type Condition = RuleRequestBody['condition']

const HOT = { kind: 'threshold', metric: 'm', op: '>', value: 10 } as const

function deviceWith(condition: Condition, wish: Partial<RuleRequestBody> = {}): JudgedDevice {
  return new JudgedDevice([ruleOf({ condition, repeat_interval_sec: 604_800, ...wish })])
}
/** What moved, and when. */
const moves = ({ seen }: JudgedDevice) => seen.map(({ at, event }) => [at, event])

describe('what mutes and what is judged', () => {
  test('outside its windows a condition is false, and the edges are deadlines', () => {
    // It begins on a Monday at ten.
    const device = deviceWith(HOT, {
      active: [{ days: ['mon'], start: '10:01', duration_min: 1, tz: 'UTC' }],
    })
    device.report(0, { m: 11 })
    device.passTo(130)
    expect(moves(device)).toEqual([
      [60, 'fired'],
      [120, 'resolved'],
    ])
  })

  test('a time counts from the opening of its window at the earliest', () => {
    const active = [
      { start: '10:01', duration_min: 1, tz: 'UTC' },
      { start: '10:02', duration_min: 1, tz: 'UTC' },
    ]
    const device = deviceWith(HOT, { active, for_sec: 30 })
    device.report(50, { m: 11 })
    device.report(89, { m: 9 })
    device.report(100, { m: 11 })
    device.passTo(200)
    expect(moves(device)).toEqual([
      [130, 'fired'],
      [180, 'resolved'],
    ])
    const opened = deviceWith(HOT, { active, for_sec: 30 })
    opened.report(50, { m: 11 })
    opened.passTo(90)
    expect(moves(opened)).toEqual([[90, 'fired']])
  })

  test('what clears an alert does so outside its windows, too', () => {
    const device = deviceWith(HOT, {
      active: [{ start: '10:00', duration_min: 1, tz: 'UTC' }],
      clear: { kind: 'threshold', metric: 'm', op: '<', value: 5 },
    })
    device.report(0, { m: 11 })
    device.report(70, { m: 9 })
    device.report(80, { m: 4 })
    expect(moves(device)).toEqual([
      [0, 'fired'],
      [80, 'resolved'],
    ])
  })

  test.each([
    [
      'mute',
      [
        ['fired', undefined],
        ['updated', 'fired'],
      ],
      0,
    ],
    ['evaluate', [['fired', 'fired']], 0],
    ['off', [['fired', 'fired']], 20],
  ] as const)('during maintenance: %s', (during_maintenance, expected, firstAt) => {
    const device = deviceWith(HOT, { during_maintenance })
    device.change(0, { status: 'maintenance' })
    device.report(0, { m: 11 })
    device.passTo(10)
    device.change(20, { status: 'online' })
    expect(device.seen.map(({ event, notice }) => [event, notice])).toEqual(expected)
    expect(device.seen[0]?.at).toBe(firstAt)
  })

  test.each([
    ['', HOT],
    [', also if it is repeated', { kind: 'repeat', condition: HOT, times: 2, within_sec: 60 }],
  ] as const)(
    'a rule about values is muted while the device is offline, and told of afterwards%s',
    (_, condition) => {
      const device = deviceWith(condition, { for_sec: 5 })
      device.report(0, { m: 11 })
      device.report(1, { m: 9 })
      device.report(2, { m: 11 })
      device.change(3, { status: 'offline' })
      device.passTo(10)
      expect(device.seen).toMatchObject([{ at: 7, event: 'fired', notice: undefined }])
      device.change(20, { status: 'online' })
      expect(device.seen.at(-1)).toMatchObject({ at: 20, event: 'updated', notice: 'fired' })
    },
  )

  test('a rule is muted while one that inhibits it fires for the same device', () => {
    const device = new JudgedDevice([
      ruleOf({ condition: HOT, inhibited_by: ['rul_power'] }),
      ruleOf({ condition: { kind: 'threshold', metric: 'power', op: '==', value: false } }, 'rul_power'),
    ])
    device.report(1, { power: false })
    device.report(2, { m: 11 })
    device.report(3, { power: true })
    const told = device.seen.map(({ at, ruleId, event, notice }) => [at, ruleId, event, notice])
    expect(told).toEqual([
      [1, 'rul_power', 'fired', 'fired'],
      [2, 'rul_1', 'fired', undefined],
      [3, 'rul_power', 'resolved', 'resolved'],
      [3, 'rul_1', 'updated', 'fired'],
    ])
  })

  describe('of rules that are judged at the same moment', () => {
    const OFFLINE = { kind: 'state', in: ['offline'] } as const
    // The muted rule is the older one.
    const device = () =>
      new JudgedDevice([
        ruleOf({ condition: { kind: 'absence', for_sec: 10 }, inhibited_by: ['rul_2'] }),
        ruleOf({ condition: OFFLINE, keep_firing_for_sec: 5 }, 'rul_2'),
      ])
    const toldBy = ({ seen }: JudgedDevice, id: string) =>
      seen.filter(({ ruleId }) => ruleId === id).map(({ at, notice }) => [at, notice])

    test('the one that inhibits is judged first', () => {
      const both = device()
      both.change(10, { status: 'offline' })
      expect([toldBy(both, 'rul_1'), toldBy(both, 'rul_2')]).toEqual([[[10, undefined]], [[10, 'fired']]])
    })

    test('the muted one is told of as soon as nothing inhibits it any more', () => {
      const both = device()
      both.change(5, { status: 'offline' })
      both.passTo(10)
      expect(toldBy(both, 'rul_1')).toEqual([[10, undefined]])
      both.change(20, { status: 'online' })
      both.passTo(30)
      expect(toldBy(both, 'rul_2')).toEqual([
        [5, 'fired'],
        [25, 'resolved'],
      ])
      expect(toldBy(both, 'rul_1').at(-1)).toEqual([25, 'fired'])
    })
  })
})
