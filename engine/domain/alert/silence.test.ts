// [contract 5.6] What silences match, and when.
import { describe, expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { compileSilence, type Silence, silenceState } from './silence.ts'
import { JudgedDevice, ruleOf, START } from './testing/judged-device.ts'

const at = (text: string) => Date.parse(text)

function silenceOf(about: Partial<Silence> = {}): Silence {
  return {
    ...{ silence_id: 'sil_1', comment: 'rewiring', created_by: 'usr_ann', created_at: START, revision: 1 },
    ...{ matchers: { device_id: 'robot-7' }, starts_at: START, ends_at: START + 3_600_000, windows: [] },
    ...about,
  }
}

describe('a silence matches', () => {
  const device = new JudgedDevice([]).device
  const matches = (matchers: Silence['matchers']) =>
    compileSilence(silenceOf({ matchers })).matches({ ...device, tags: ['picker'] }, 'rul_1', 'warning')

  test.each([
    { rule_id: 'rul_1' },
    { device_id: 'robot-7' },
    { group: 'plant' },
    { group: 'plant/a' },
    { type: 'mqtt_device' },
    { tag: 'picker' },
    { severity: ['info', 'warning'] },
    { group: 'plant', tag: 'picker', severity: ['warning'] },
  ] as const)('%j', (matchers) => {
    expect(matches(matchers)).toBe(true)
  })

  test.each([
    { rule_id: 'rul_2' },
    { device_id: 'robot-8' },
    { group: 'pla' },
    { group: 'plant/b' },
    { type: 'simulator' },
    { tag: 'mover' },
    { severity: ['critical'] },
    { group: 'plant', tag: 'picker', severity: ['critical'] },
  ] as const)('nothing else: %j', (matchers) => {
    expect(matches(matchers)).toBe(false)
  })
})

test('a silence is pending, active and over', () => {
  const silence = silenceOf()
  const states = [START - 1, START, silence.ends_at - 1, silence.ends_at].map((now) =>
    silenceState(silence, now),
  )
  expect(states).toEqual(['pending', 'active', 'active', 'expired'])
})

test('a recurring silence mutes in its windows only, by the clocks of its zone', () => {
  // Clocks go forward on the night to Sunday, 2026-03-29.
  const nights = silenceOf({
    ...{ starts_at: at('2026-03-27T00:00:00Z'), ends_at: at('2026-03-30T00:00:00Z') },
    windows: [{ days: ['sat', 'sun'], start: '22:00', duration_min: 120, tz: 'Europe/Berlin' }],
  })
  const compiled = compileSilence(nights)
  const inside = (text: string) => compiled.stateAt(Millis(at(text))).isInside
  expect([inside('2026-03-27T21:30:00Z'), inside('2026-03-28T20:59:59Z')]).toEqual([false, false])
  expect([inside('2026-03-28T21:00:00Z'), inside('2026-03-28T22:59:59Z')]).toEqual([true, true])
  expect([inside('2026-03-28T23:00:00Z'), inside('2026-03-29T19:59:59Z')]).toEqual([false, false])
  expect([inside('2026-03-29T20:00:00Z'), inside('2026-03-29T21:59:59Z')]).toEqual([true, true])
  expect(compiled.stateAt(at('2026-03-29T22:00:00Z'))).toMatchObject({
    isInside: false,
    changesAt: nights.ends_at,
  })
})

test('an alert is muted in the windows of a silence, and told of when one ends', () => {
  // It begins on a Monday at ten.
  const windows = [{ start: '10:01', duration_min: 1 }]
  const silence = silenceOf({ windows })
  const device = new JudgedDevice([ruleOf({})], [silence])
  device.report(30, { m: 11 })
  device.report(40, { m: 1 })
  device.report(70, { m: 11 })
  device.passTo(130)
  expect(device.seen.map(({ at: second, event, notice }) => [second, event, notice])).toEqual([
    [30, 'fired', 'fired'],
    [40, 'resolved', 'resolved'],
    [70, 'fired', undefined],
    [120, 'updated', 'fired'],
  ])
})
