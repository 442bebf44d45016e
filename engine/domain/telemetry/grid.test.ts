import fc from 'fast-check'
import { expect, test } from 'vitest'
import { INTERVALS } from '../../../schemas/vocabulary.ts'
import { gridOf, startOf, startsIn } from './grid.ts'
import { isZone, zonePeriods } from './zone.ts'

const MANY = 100_000
const iso = (seconds: readonly number[]) => seconds.map((second) => new Date(second * 1000).toISOString())
const span = (from: string, to: string) => ({ from: Date.parse(from), to: Date.parse(to) })
const starts = (zone: string | undefined, interval: '1h' | '1d', from: string, to: string) =>
  iso(startsIn(gridOf({ interval, zone, ...span(from, to) }), span(from, to), MANY)).map((time) =>
    time.replace(':00.000Z', ''),
  )

test('days have 23 and 25 hours when clocks change', () => {
  expect(starts('Europe/Berlin', '1d', '2026-03-28T12:00Z', '2026-03-31T00:00Z')).toEqual([
    '2026-03-27T23:00',
    '2026-03-28T23:00',
    '2026-03-29T22:00',
    '2026-03-30T22:00',
  ])
  expect(starts('Europe/Berlin', '1d', '2026-10-24T12:00Z', '2026-10-27T00:00Z')).toEqual([
    '2026-10-23T22:00',
    '2026-10-24T22:00',
    '2026-10-25T23:00',
    '2026-10-26T23:00',
  ])
})

test('a day without midnight begins with its first second, and one with two midnights begins once', () => {
  expect(starts('Asia/Beirut', '1d', '2026-03-28T12:00Z', '2026-03-30T12:00Z')).toEqual([
    '2026-03-27T22:00',
    '2026-03-28T22:00',
    '2026-03-29T21:00',
  ])
  expect(starts('America/Havana', '1d', '2026-10-31T12:00Z', '2026-11-02T12:00Z')).toEqual([
    '2026-10-31T04:00',
    '2026-11-01T04:00',
    '2026-11-02T05:00',
  ])
  expect(starts('America/St_Johns', '1d', '2010-11-06T12:00Z', '2010-11-08T12:00Z')).toEqual([
    '2010-11-06T02:30',
    '2010-11-07T02:30',
    '2010-11-08T03:30',
  ])
})

test('a day may be missing: Samoa had no 30 December 2011', () => {
  expect(starts('Pacific/Apia', '1d', '2011-12-29T12:00Z', '2012-01-01T00:00Z')).toEqual([
    '2011-12-29T10:00',
    '2011-12-30T10:00',
    '2011-12-31T10:00',
  ])
})

test('hours of a zone begin when its clocks show a full hour, even if clocks change by half an hour', () => {
  expect(starts('Asia/Kolkata', '1h', '2026-01-01T00:00Z', '2026-01-01T02:00Z')).toEqual([
    '2025-12-31T23:30',
    '2026-01-01T00:30',
    '2026-01-01T01:30',
  ])
  // Clocks go back by half an hour at 15:00 UTC.
  expect(starts('Australia/Lord_Howe', '1h', '2026-04-04T13:10Z', '2026-04-04T17:00Z')).toEqual([
    '2026-04-04T13:00',
    '2026-04-04T14:00',
    '2026-04-04T15:30',
    '2026-04-04T16:30',
  ])
})

const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'America/Havana',
  'America/St_Johns',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'Africa/Cairo',
  'Pacific/Apia',
  'America/Sao_Paulo',
]

test('two times are in the same day if and only if the local calendar shows the same date', () => {
  const at = fc.integer({ min: Date.UTC(2012, 0, 2), max: Date.UTC(2035, 0, 1) })
  fc.assert(
    fc.property(
      fc.constantFrom(...ZONES),
      at,
      fc.integer({ min: 0, max: 400 * 86_400_000 }),
      (zone, from, more) => {
        const to = from + more + 1
        const grid = gridOf({ interval: '1d', zone, from, to })
        const date = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' })
        const days = startsIn(grid, { from, to }, MANY)
        expect(days[0]).toBeLessThanOrEqual(from / 1000)
        for (const [i, day] of days.entries()) {
          expect(date.format(day * 1000)).not.toBe(date.format(day * 1000 - 1))
          const end = (days[i + 1] ?? day + 1) * 1000 - 1
          expect(date.format(end)).toBe(date.format(day * 1000))
          expect(startOf(grid, day)).toBe(day)
          expect(startOf(grid, Math.floor(end / 1000))).toBe(day)
        }
      },
    ),
    { numRuns: 30 },
  )
})

test('without a zone, buckets begin at multiples of their interval', () => {
  fc.assert(
    fc.property(fc.constantFrom(...INTERVALS), fc.nat(2 ** 31), fc.nat(500), (interval, second, width) => {
      const grid = gridOf({ interval, from: second * 1000, to: second * 1000 + 1 })
      const [{ step }] = grid
      const to = (second + width * step) * 1000
      const all = startsIn(grid, { from: second * 1000, to }, MANY)
      expect(all.every((start) => start % step === 0)).toBe(true)
      expect(all.length).toBe(Math.ceil(to / 1000 / step) - Math.floor(second / step))
    }),
  )
})

test('a zone is recognised by its IANA name', () => {
  expect(['Europe/Berlin', 'UTC', 'America/Argentina/Ushuaia', 'Etc/GMT+5'].map(isZone)).not.toContain(false)
  const none = ['', 'Mars/Olympus', '+05:30', "Europe/Berlin' OR 1=1", 'Europe/Berlin\0', '../etc/passwd']
  expect(none.map(isZone)).not.toContain(true)
})

test('the periods of a zone are what the runtime says, whichever years were asked for before', () => {
  const names = [
    'Europe/Berlin',
    'Africa/Casablanca',
    'Australia/Lord_Howe',
    'Asia/Kathmandu',
    'Pacific/Apia',
  ]
  const second = fc.integer({ min: 0, max: 2 ** 32 })
  fc.assert(
    fc.property(
      fc.constantFrom(...names),
      second,
      fc.nat(40 * 366 * 86_400),
      fc.nat(),
      (name, from, width, n) => {
        const to = from + width
        const periods = zonePeriods(name, from, to)
        expect(periods[0]?.from).toBe(from)
        const at = from + (n % (width + 1))
        const offset = periods.findLast((period) => period.from <= at)?.offset ?? Number.NaN
        const local = new Date((at + offset) * 1000).toISOString().slice(0, 19)
        const wanted = new Intl.DateTimeFormat('sv-SE', {
          timeZone: name,
          dateStyle: 'short',
          timeStyle: 'medium',
        }).format(at * 1000)
        expect(local).toBe(wanted.replace(' ', 'T'))
      },
    ),
  )
})
