import { expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { START } from '../shard/testing/frames.ts'
import { Watch } from './watch.ts'

function setUp() {
  const state = { now: START as number, ticks: 0, pending: 0, isHearing: true }
  const watch = new Watch({
    now: () => Millis(state.now),
    ticks: () => state.ticks,
    heardUpTo: () => (state.isHearing ? Millis(state.now - state.pending) : undefined),
  })
  /** Time goes on, tick by tick. */
  const pass = (ms: number) => {
    for (let gone = 0; gone < ms; gone += 250) {
      state.now += 250
      state.ticks += 250
      watch.tick()
    }
  }
  return { state, watch, pass }
}

test('a sweep is due once per tick, at the time up to which everything is in the log', () => {
  const { state, watch, pass } = setUp()
  expect(watch.takeSweep(true)).toBeUndefined()
  state.pending = 40
  pass(250)
  expect([watch.takeSweep(true), watch.takeSweep(true)]).toEqual([START + 210, undefined])
  pass(250)
  expect(watch.takeSweep(false)).toBe('behind')
})

test('steady time forgives nothing', () => {
  const { watch, pass } = setUp()
  pass(120_000)
  expect(watch.takeForgiveness()).toBeUndefined()
})

test.each([
  ['a pause of the process', 120_000, 120_000],
  ['a clock set forwards', 3_600_000, 250],
  ['a clock set backwards', -3_600_000, 250],
])('%s is forgiven, once, as of its end', (_, now, ticks) => {
  const { state, watch, pass } = setUp()
  pass(1_000)
  state.now += now
  state.ticks += ticks
  watch.tick()
  expect([watch.takeForgiveness(), watch.takeForgiveness()]).toEqual([state.now, undefined])
  pass(10_000)
  expect(watch.takeForgiveness()).toBeUndefined()
})

test('while the log fails nothing is swept, and then that time is forgiven', () => {
  const { state, watch, pass } = setUp()
  state.isHearing = false
  pass(30_000)
  expect([watch.takeSweep(true), watch.takeForgiveness()]).toEqual([undefined, undefined])
  state.isHearing = true
  pass(250)
  expect(watch.takeForgiveness()).toBe(state.now)
})
