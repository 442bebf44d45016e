import { describe, expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { START } from '../shard/testing/items.ts'
import { SilenceSweep } from './silence-sweep.ts'

function setUp() {
  const state = { now: START as number, ticks: 0, pending: 0, isHearing: true }
  const sweep = new SilenceSweep({
    now: () => Millis(state.now),
    ticks: () => state.ticks,
    watermark: () => (state.isHearing ? Millis(state.now - state.pending) : undefined),
  })
  /** Lets time pass, with a look every quarter second. */
  const pass = (ms: number) => {
    for (let gone = 0; gone < ms; gone += 250) {
      state.now += 250
      state.ticks += 250
      sweep.tick()
    }
  }
  return { state, sweep, pass }
}

test('a sweep is due once per look, at the time up to which everything is in the log', () => {
  const { state, sweep, pass } = setUp()
  expect(sweep.takeSweep(true)).toBeUndefined()
  state.pending = 40
  pass(250)
  expect([sweep.takeSweep(true), sweep.takeSweep(true)]).toEqual([START + 210, undefined])
  pass(250)
  expect(sweep.takeSweep(false)).toBe('behind')
})

test('nothing is forgiven while time is steady', () => {
  const { sweep, pass } = setUp()
  pass(120_000)
  expect(sweep.takeForgiveness()).toBeUndefined()
})

test.each([
  ['a pause of the process', 120_000, 120_000],
  ['a clock set forwards', 3_600_000, 250],
  ['a clock set backwards', -3_600_000, 250],
])('%s is forgiven once, as of its end', (_, now, ticks) => {
  const { state, sweep, pass } = setUp()
  pass(1_000)
  state.now += now
  state.ticks += ticks
  sweep.tick()
  expect([sweep.takeForgiveness(), sweep.takeForgiveness()]).toEqual([state.now, undefined])
  pass(10_000)
  expect(sweep.takeForgiveness()).toBeUndefined()
})

test.each([
  ['a pause of the process', 120_000, 120_000, []],
  ['a clock set forwards', 3_600_250, 250, [3_600_000]],
  ['a clock set backwards', -3_600_250, 250, []],
])('%s is a leap of the clock if it is one', (_, now, ticks, leaps) => {
  const { state, sweep, pass } = setUp()
  pass(1_000)
  state.now += now
  state.ticks += ticks
  sweep.tick()
  expect(sweep.leaps).toEqual(leaps.map((ms) => ({ at: state.now - ms, ms })))
  pass(10_000)
  expect(sweep.leaps.map(({ ms }) => ms)).toEqual(leaps)
})

describe('after a pause of the process', () => {
  /** The numbers of the looks at which a sweep was due. The first look is number 1. */
  function sweptAt(count: number, lost: (tick: number) => number): readonly number[] {
    const { state, sweep, pass } = setUp()
    pass(1_000)
    sweep.takeSweep(true)
    const swept: number[] = []
    for (let tick = 1; tick <= count; tick++) {
      state.now += lost(tick)
      state.ticks += lost(tick)
      pass(250)
      if (sweep.takeSweep(true) !== undefined) swept.push(tick)
    }
    return swept
  }

  test('sweeps wait until the sockets were read in between', () => {
    expect(sweptAt(8, (tick) => (tick === 1 ? 60_000 : 0))).toEqual([5, 6, 7, 8])
  })

  test('a sweep that was already due waits, too', () => {
    const { state, sweep, pass } = setUp()
    pass(1_000)
    state.now += 60_000
    state.ticks += 60_000
    sweep.tick()
    expect(sweep.takeSweep(true)).toBeUndefined()
  })

  test('a service that loses time again and again sweeps all the same', () => {
    expect(sweptAt(12, () => 3_000)).toEqual([5, 10])
    expect(sweptAt(12, (tick) => (tick % 2 === 0 ? 3_000 : 0))).toEqual([1, 6, 7, 12])
  })
})

test('while the log fails there are no sweeps, and that time is forgiven afterwards', () => {
  const { state, sweep, pass } = setUp()
  state.isHearing = false
  pass(30_000)
  expect([sweep.takeSweep(true), sweep.takeForgiveness()]).toEqual([undefined, undefined])
  state.isHearing = true
  pass(250)
  expect(sweep.takeForgiveness()).toBe(state.now)
})
