// [contract 5.1] What becomes of alerts and pending instances when their rule changes.
import { describe, expect, test } from 'vitest'
import type { RuleRequestBody } from '../../../schemas/alert-rule.ts'
import { Micros } from '../../../schemas/ids.ts'
import { resolveAlert } from './alert-updates.ts'
import { JudgedDevice, ruleOf, START } from './testing/judged-device.ts'

const HOT = { kind: 'threshold', metric: 'm', op: '>', value: 10 } as const

function deviceWith(
  condition: RuleRequestBody['condition'],
  wish: Partial<RuleRequestBody> = {},
): JudgedDevice {
  return new JudgedDevice([ruleOf({ condition, repeat_interval_sec: 604_800, ...wish })])
}
/** What moved, and when. */
const moves = ({ seen }: JudgedDevice) => seen.map(({ at, event }) => [at, event])
const open = ({ alerts }: JudgedDevice) => alerts.open[0]

test('an alert that fired while the sweep was under way does not end before it fired', () => {
  const device = deviceWith(HOT)
  device.report(5, { m: 11 })
  const [fired] = device.alerts.open
  if (fired === undefined) throw new Error('nothing fired')
  const begun = Micros((START + 3_000) * 1_000)
  const { alert, alerts } = resolveAlert(device.alerts, fired, { reason: 'rule_changed', now: begun })
  expect(alert.resolvedAt).toBe(alert.firedAt)
  expect(alerts.memos).toMatchObject([{ endedAt: alert.firedAt * 1_000 }])
})

describe('a rule that changes', () => {
  const hotter = (value: number) => ({ ...ruleOf({ condition: { ...HOT, value } }), revision: 2 })

  test('keeps an alert that is still true, and resolves one that is not', () => {
    const still = deviceWith(HOT)
    still.report(1, { m: 15 })
    const before = open(still)?.id
    still.settings([hotter(12)])
    still.look(2)
    expect(open(still)?.id).toBe(before)
    const over = deviceWith(HOT)
    over.report(1, { m: 11 })
    over.settings([hotter(12)])
    over.look(2)
    expect(over.seen.at(-1)).toMatchObject({ at: 2, event: 'resolved', reason: 'rule_changed' })
  })

  test('does not count an alert that is still true once more, but does count when it is true again', () => {
    const device = deviceWith(HOT, { keep_firing_for_sec: 60 })
    device.report(1, { m: 15 })
    device.settings([{ ...hotter(12), keep_firing_for_sec: 60 }])
    device.look(2)
    expect(open(device)?.count).toBe(1)
    device.report(3, { m: 1 })
    device.report(4, { m: 15 })
    expect(open(device)?.count).toBe(2)
  })

  test('back to what it was opens another alert, though no value came', () => {
    const device = deviceWith(HOT)
    device.report(1, { m: 11 })
    device.settings([hotter(12)])
    device.look(2)
    device.settings([{ ...hotter(10), revision: 3 }])
    device.look(3)
    expect(moves(device)).toEqual([
      [1, 'fired'],
      [2, 'resolved'],
      [3, 'fired'],
    ])
  })

  test('while it is pending is judged anew at once, by the latest values', () => {
    const device = deviceWith(HOT, { for_sec: 10 })
    device.report(1, { m: 15 })
    const edited = (value: number) => ({ ...hotter(value), for_sec: 10 })
    device.settings([edited(20)])
    device.passTo(30)
    expect(moves(device)).toEqual([])
    device.settings([{ ...edited(12), revision: 3 }])
    device.passTo(45)
    // It has been true since its value was received.
    expect(moves(device)).toEqual([[30, 'fired']])
  })

  test.each([
    ['rule_disabled', { enabled: false }],
    ['target_left', { target: { type: 'group', value: 'elsewhere' } }],
  ] as const)('ends its alert: %s', (reason, change) => {
    const device = deviceWith(HOT)
    device.report(1, { m: 11 })
    device.settings([{ ...ruleOf({ condition: HOT }), ...change, revision: 2 }])
    device.look(2)
    expect(device.seen.at(-1)).toMatchObject({ event: 'resolved', reason, notice: 'resolved' })
  })

  test('tells the channels that it names now, also of an alert that is open', () => {
    const device = deviceWith(HOT, { channels: ['ch_old'], repeat_interval_sec: 60 })
    device.report(1, { m: 11 })
    const wish = { condition: HOT, repeat_interval_sec: 60, name: 'hotter', send_resolved: false }
    device.settings([{ ...ruleOf({ ...wish, channels: ['ch_new'] }), revision: 2 }])
    device.passTo(61)
    device.report(62, { m: 1 })
    expect(
      device.moves.map(({ event, alert }) => [event, alert.channels, alert.ruleName, alert.sendResolved]),
    ).toEqual([
      ['fired', ['ch_old'], 'test', true],
      ['repeat', ['ch_new'], 'hotter', false],
      ['resolved', ['ch_new'], 'hotter', false],
    ])
  })

  test('tells of an open alert that it makes worse, also if its condition changes with it', () => {
    const device = deviceWith(HOT)
    device.report(1, { m: 15 })
    device.settings([{ ...ruleOf({ condition: { ...HOT, value: 12 }, severity: 'critical' }), revision: 2 }])
    device.look(2)
    expect(device.seen.map(({ event, severity, notice }) => [event, severity, notice])).toEqual([
      ['fired', 'warning', 'fired'],
      ['updated', 'warning', undefined],
      ['severity', 'critical', 'fired'],
    ])
    expect(open(device)).toMatchObject({ highestSeverity: 'critical', threshold: 12 })
  })

  test('a device that leaves the target has its alert resolved', () => {
    const device = deviceWith(HOT, { target: { type: 'group', value: 'plant/a' } })
    device.report(1, { m: 11 })
    device.change(2, { group: 'plant/b' })
    expect(device.seen.at(-1)).toMatchObject({ event: 'resolved', reason: 'target_left' })
  })
})
