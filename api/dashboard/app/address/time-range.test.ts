import { describe, expect, test } from 'vitest'
import {
  aroundSpan,
  fixedRange,
  intervalFor,
  LAST_HOUR,
  moved,
  readRange,
  scaled,
  spanOf,
  writeRange,
} from './time-range.ts'

const HOUR = 3_600_000

describe('a time range in the address', () => {
  test('comes back as it was written', () => {
    const ranges = [
      LAST_HOUR,
      { kind: 'live', spanMs: 15 * 60_000 },
      { kind: 'live', spanMs: 7 * 24 * HOUR },
      { kind: 'live', spanMs: 5 * HOUR },
      { kind: 'fixed', fromMs: Date.UTC(2026, 2, 1), toMs: Date.UTC(2026, 2, 2, 3, 4, 5, 678) },
    ] as const
    for (const range of ranges) {
      const { from, to } = writeRange(range)
      expect(readRange(from, to)).toEqual(range)
    }
  })

  test('what cannot be read is the last hour', () => {
    for (const [from, to] of [
      ['', ''],
      ['yesterday', 'now'],
      ['-0m', ''],
      ['-9999d', ''],
      ['2026-03-02T00:00:00Z', '2026-03-01T00:00:00Z'],
      ['2026-03-01T00:00:00Z', ''],
      ['1970-01-01T00:00:00Z', '2026-03-01T00:00:00Z'],
      ['-1h; drop', ''],
    ] as const)
      expect(readRange(from, to)).toBe(LAST_HOUR)
  })

  test('a live range ends now, a fixed one stays', () => {
    expect(spanOf(LAST_HOUR, 10 * HOUR)).toEqual({ fromMs: 9 * HOUR, toMs: 10 * HOUR })
    expect(spanOf({ kind: 'fixed', fromMs: 1, toMs: 2000 }, 10 * HOUR)).toMatchObject({
      fromMs: 1,
      toMs: 2000,
    })
  })

  test('moving and scaling give fixed ranges of at least a second', () => {
    const span = { fromMs: 0, toMs: HOUR }
    expect(moved(span, -0.5)).toEqual({ kind: 'fixed', fromMs: -HOUR / 2, toMs: HOUR / 2 })
    expect(scaled(span, 2)).toEqual({ kind: 'fixed', fromMs: -HOUR / 2, toMs: 1.5 * HOUR })
    expect(scaled({ fromMs: 0, toMs: 1000 }, 0.1)).toEqual({ kind: 'fixed', fromMs: 0, toMs: 1000 })
    expect(fixedRange(5000, 1000)).toEqual({ kind: 'fixed', fromMs: 1000, toMs: 5000 })
  })
})

describe('the interval of a chart', () => {
  test('is the finest with at most two buckets for a pixel', () => {
    expect(intervalFor({ fromMs: 0, toMs: HOUR }, 1000)).toBe('10s')
    expect(intervalFor({ fromMs: 0, toMs: HOUR }, 100)).toBe('1m')
    expect(intervalFor({ fromMs: 0, toMs: 24 * HOUR }, 1000)).toBe('1m')
    expect(intervalFor({ fromMs: 0, toMs: 30 * 24 * HOUR }, 1000)).toBe('1h')
    expect(intervalFor({ fromMs: 0, toMs: 400 * 24 * HOUR }, 1000)).toBe('1d')
  })

  test('stays below what the service gives, however wide the chart is', () => {
    expect(intervalFor({ fromMs: 0, toMs: 11_001 * 10_000 }, 100_000)).toBe('1m')
  })
})

describe('the time around a span', () => {
  const hour = 3_600_000
  const now = 1000 * 24 * hour + 1_234_567

  test('is several times as long, holds the span, and ends now at the latest', () => {
    for (const lengthMs of [1000, 15 * 60_000, hour, 5 * hour, 24 * hour, 30 * 24 * hour, 400 * 24 * hour])
      for (const toMs of [now, now - lengthMs, now - 3 * lengthMs]) {
        const span = { fromMs: toMs - lengthMs, toMs }
        const around = aroundSpan(span, now)
        expect(around.fromMs).toBeLessThanOrEqual(span.fromMs)
        expect(around.toMs).toBeGreaterThanOrEqual(span.toMs)
        expect(around.toMs).toBeLessThanOrEqual(now)
        const times = (around.toMs - around.fromMs) / lengthMs
        expect(times).toBeGreaterThanOrEqual(lengthMs > 100 * 24 * hour ? 1 : 4)
      }
  })

  test('stays where it is while a span is moved a little within it', () => {
    const toMs = now - (now % (6 * hour)) - hour
    const span = { fromMs: toMs - hour, toMs }
    const moved = { fromMs: span.fromMs - hour / 4, toMs: span.toMs - hour / 4 }
    expect(aroundSpan(moved, now)).toEqual(aroundSpan(span, now))
  })
})
