// [contract 5.3] A story for each cell of the table of states, and for what it says about them.
import { expect, test } from 'vitest'
import type { RuleRequestBody } from '../../../schemas/alert-rule.ts'
import { JudgedDevice, ruleOf } from './testing/judged-device.ts'

const TRUE = { m: 11 }
const FALSE = { m: 9 }

function deviceWith(wish: Partial<RuleRequestBody> = {}): JudgedDevice {
  return new JudgedDevice([ruleOf({ repeat_interval_sec: 604_800, ...wish })])
}
/** What moved, when, and what somebody was told of it. */
const told = ({ seen }: JudgedDevice) => seen.map(({ at, event, notice }) => [at, event, notice])
const idsOf = ({ moves }: JudgedDevice) => new Set(moves.map(({ alert }) => alert.id))

test('inactive, true, for_sec 0: it fires', () => {
  const device = deviceWith()
  device.report(1, TRUE)
  expect(told(device)).toEqual([[1, 'fired', 'fired']])
})

test('inactive, true, for_sec above 0: it is pending, and nobody is told', () => {
  const device = deviceWith({ for_sec: 5 })
  device.report(1, TRUE)
  device.passTo(5)
  expect(told(device)).toEqual([])
})

test('inactive, false: nothing happens', () => {
  const device = deviceWith()
  device.report(1, FALSE)
  device.passTo(60)
  expect(told(device)).toEqual([])
})

test('pending, false: it is inactive without a trace, and the time begins anew', () => {
  const device = deviceWith({ for_sec: 5 })
  device.report(1, TRUE)
  device.report(4, FALSE)
  device.report(5, TRUE)
  device.passTo(9)
  expect([told(device), device.alerts.open, device.alerts.resolved]).toEqual([[], [], []])
  device.passTo(10)
  expect(told(device)).toEqual([[10, 'fired', 'fired']])
})

test('pending, for_sec over: it fires once, without a message', () => {
  const device = deviceWith({ for_sec: 5 })
  device.report(1, TRUE)
  device.passTo(60)
  expect(told(device)).toEqual([[6, 'fired', 'fired']])
})

test('pending, a restart: it fires at its second all the same', () => {
  const device = deviceWith({ for_sec: 5 })
  device.report(1, TRUE)
  device.restart()
  device.passTo(60)
  expect(told(device)).toEqual([[6, 'fired', 'fired']])
})

test('firing, true: nobody is told again before the time to repeat', () => {
  const device = deviceWith({ repeat_interval_sec: 60 })
  device.report(1, TRUE)
  device.report(2, { m: 12 })
  device.passTo(61)
  expect(told(device)).toEqual([
    [1, 'fired', 'fired'],
    [61, 'repeat', 'repeat'],
  ])
})

test('firing, false, keep 0: it is resolved', () => {
  const device = deviceWith()
  device.report(1, TRUE)
  device.report(2, FALSE)
  expect(told(device)).toEqual([
    [1, 'fired', 'fired'],
    [2, 'resolved', 'resolved'],
  ])
  expect(device.alerts.resolved).toMatchObject([{ reason: 'recovered' }])
})

test('firing, false, keep above 0: it recovers, and nobody is told', () => {
  const device = deviceWith({ keep_firing_for_sec: 5 })
  device.report(1, TRUE)
  device.report(2, FALSE)
  device.passTo(6)
  expect(told(device)).toEqual([[1, 'fired', 'fired']])
})

test('recovering, true: it is the same alert that fires again and counts, and nobody is told', () => {
  const device = deviceWith({ keep_firing_for_sec: 5 })
  device.report(1, TRUE)
  device.report(2, FALSE)
  device.report(4, TRUE)
  device.passTo(20)
  expect(told(device)).toEqual([[1, 'fired', 'fired']])
  device.report(21, FALSE)
  device.passTo(26)
  expect(device.seen.at(-1)).toMatchObject({ at: 26, event: 'resolved', count: 2 })
  expect(idsOf(device).size).toBe(1)
})

test('recovering, keep_firing_for_sec over: it is resolved without a message', () => {
  const device = deviceWith({ keep_firing_for_sec: 5 })
  device.report(1, TRUE)
  device.report(2, FALSE)
  device.passTo(60)
  expect(told(device)).toEqual([
    [1, 'fired', 'fired'],
    [7, 'resolved', 'resolved'],
  ])
})

test.each([
  ['firing', 2],
  ['recovering', 3],
])('%s, a user resolves it: it waits until its condition was false once', (_, at) => {
  const device = deviceWith({ keep_firing_for_sec: 5 })
  device.report(1, TRUE)
  if (at === 3) device.report(2, FALSE)
  device.act(at, { kind: 'resolve' })
  expect(device.seen.at(-1)).toMatchObject({ at, event: 'resolved', notice: 'resolved', reason: 'user' })
  if (at === 2) device.report(4, TRUE)
  device.report(5, FALSE)
  expect(device.seen).toHaveLength(2)
  device.report(6, TRUE)
  expect(device.seen.at(-1)).toMatchObject({ at: 6, event: 'fired' })
  expect(idsOf(device).size).toBe(2)
})

test('firing, a user resolves it for a while: a condition that was never false gives a new alert then', () => {
  const device = deviceWith()
  device.report(1, TRUE)
  device.act(2, { kind: 'resolve', snoozeSec: 10 })
  device.passTo(11)
  expect(device.seen).toHaveLength(2)
  device.passTo(12)
  expect(device.seen.at(-1)).toMatchObject({ at: 12, event: 'fired' })
  expect(idsOf(device).size).toBe(2)
})

test('firing, its rule is gone: it is resolved for that reason', () => {
  const device = deviceWith()
  device.report(1, TRUE)
  device.settings([])
  expect(device.seen.at(-1)).toMatchObject({ event: 'resolved', reason: 'rule_deleted' })
})

test('firing, its device is decommissioned: it is resolved for that reason', () => {
  const device = deviceWith()
  device.report(1, TRUE)
  device.change(2, { status: 'decommissioned' })
  expect(device.seen.at(-1)).toMatchObject({ event: 'resolved', reason: 'decommissioned' })
})

test('a value that alternates every second for ten minutes is three alerts, the last of which stays open', () => {
  const device = deviceWith()
  for (let at = 1; at <= 600; at++) device.report(at, at % 2 === 1 ? TRUE : FALSE)
  const notices = (event: string) => device.seen.filter(({ notice }) => notice === event).length
  expect([notices('fired'), notices('resolved')]).toEqual([3, 2])
  expect(device.alerts.open).toMatchObject([{ flapping: true }])
  device.passTo(600 + 899)
  expect(device.alerts.open).toHaveLength(1)
  device.passTo(600 + 900)
  expect(device.alerts.open).toEqual([])
})

test('an alert takes a hundred comments, and is acted on without one all the same', () => {
  const device = new JudgedDevice([ruleOf({})])
  device.report(0, { m: 11 })
  const outcomes = Array.from({ length: 101 }, () => device.act(1, { kind: 'comment', text: 'seen' }))
  expect(outcomes.map(({ kind }) => kind).lastIndexOf('acted')).toBe(99)
  expect(outcomes.at(-1)).toMatchObject({ code: 'LIMIT_REACHED', detail: { limit: 100 } })
  expect(device.act(1, { kind: 'ack' }).kind).toBe('acted')
})

test('an alert shows the values of the metric that it is about, whichever else is true', () => {
  const over = (metric: string) => ({ kind: 'threshold', metric, op: '>', value: 10 }) as const
  const device = new JudgedDevice([
    ruleOf({ condition: { any: [over('a'), over('b')] }, repeat_interval_sec: 60 }),
  ])
  device.report(1, { a: 1, b: 50 })
  device.report(2, { a: 20 })
  device.passTo(61)
  device.report(62, { b: 2 })
  device.report(63, { a: 3 })
  expect(device.moves.map(({ event, alert: { metric, value } }) => [event, metric, value])).toEqual([
    ['fired', 'b', 50],
    ['repeat', 'b', 50],
    ['resolved', 'b', 2],
  ])
})
