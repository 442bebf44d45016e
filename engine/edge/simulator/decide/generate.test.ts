import { expect, test } from 'vitest'
import type { Generator } from '../scenario/scenario.ts'
import { generate } from './generate.ts'

const at = (more: object = {}) => ({ seed: 1, decision: 2, device: 0, nth: 0, elapsedSec: 0, ...more })
const made = (generator: Generator, more: object = {}) => generate(generator, at(more))
const BOUNDS = { min: 10, max: 20, digits: 2 }

test('constants never change, counters count messages, and ramps rise and start again', () => {
  expect(made({ kind: 'constant', value: 'a' }, { nth: 9 })).toBe('a')
  expect([0, 1, 5].map((nth) => made({ kind: 'counter', start: 100, step: 2 }, { nth }))).toEqual([
    100, 102, 110,
  ])
  const ramp = { kind: 'ramp', from: 0, to: 50, periodSec: 10, digits: 2 } as const
  expect([0, 5, 9, 10, 12].map((elapsedSec) => made(ramp, { elapsedSec }))).toEqual([0, 25, 45, 0, 10])
})

test('a sine reaches its bounds but does not exceed them, and its phase differs between devices', () => {
  const sine = { kind: 'sine', ...BOUNDS, periodSec: 60 } as const
  const turn = (device: number) =>
    Array.from({ length: 60 }, (_, elapsedSec) => Number(made(sine, { device, elapsedSec })))
  const values = turn(0)
  expect([Math.min(...values), Math.max(...values)]).toEqual([expect.closeTo(10, 0), expect.closeTo(20, 0)])
  expect(turn(1)).not.toEqual(values)
})

test('a walk starts at its start value, moves in steps and is reflected at its bounds', () => {
  const walk = { kind: 'walk', ...BOUNDS, start: 19.5, step: 1 } as const
  let last = Number(generate(walk, at()))
  expect(last).toBe(19.5)
  const seen = new Set<number>()
  for (let nth = 1; nth <= 500; nth++) {
    const value = Number(generate(walk, at({ nth }), last))
    expect(Math.abs(value - last)).toBeLessThanOrEqual(1.01)
    expect(value).toBeGreaterThanOrEqual(10)
    expect(value).toBeLessThanOrEqual(20)
    seen.add(value)
    last = value
  }
  expect(seen.size).toBeGreaterThan(100)
})

test('an enumeration takes all its values and holds each for the configured time', () => {
  const values = ['a', 'b', 'c']
  const each = Array.from({ length: 60 }, (_, nth) => made({ kind: 'enum', values, holdSec: 0 }, { nth }))
  expect(new Set(each)).toEqual(new Set(values))
  const held = [0, 4, 9].map((elapsedSec) =>
    made({ kind: 'enum', values, holdSec: 10 }, { elapsedSec, nth: elapsedSec }),
  )
  expect(new Set(held).size).toBe(1)
})

test('a position stays on its circle', () => {
  const gps = { kind: 'gps', lat: 52, lon: 13, radiusM: 1_000, speedMps: 10 } as const
  for (const elapsedSec of [0, 60, 3_600]) {
    const { lat, lon } = Object(made(gps, { elapsedSec })) as { lat: number; lon: number }
    const north = (lat - 52) * 111_320
    const east = (lon - 13) * 111_320 * Math.cos((52 * Math.PI) / 180)
    expect(Math.hypot(north, east)).toBeCloseTo(1_000, -1)
  }
})

test('rows of a file are sent in order, and devices start at different rows', () => {
  const csv = { kind: 'csv', values: [1, 2, 3, 4, 5] } as const
  const rows = (device: number) => Array.from({ length: 6 }, (_, nth) => Number(made(csv, { device, nth })))
  const [first = 0] = rows(0)
  expect(rows(0)).toEqual(Array.from({ length: 6 }, (_, nth) => ((first - 1 + nth) % 5) + 1))
  expect(new Set(Array.from({ length: 30 }, (_, device) => rows(device)[0])).size).toBe(5)
})

test('the same seed gives the same values', () => {
  const walk = { kind: 'walk', ...BOUNDS, start: undefined, step: 1 } as const
  expect(made(walk, { device: 3 })).toBe(made(walk, { device: 3 }))
  expect(made(walk, { device: 3, seed: 2 })).not.toBe(made(walk, { device: 3 }))
})
