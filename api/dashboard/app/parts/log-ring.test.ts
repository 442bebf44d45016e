import { expect, test } from 'vitest'
import { EMPTY_RING, filled, type LogLine, linesSince, shownLines, withGap, withLines } from './log-ring.ts'

const line = (at: number, message = `line ${at}`, level = 'info'): LogLine => ({
  kind: 'line',
  at,
  level,
  message,
  logger: null,
  fields: {},
})

test('the ring keeps the newest lines and counts those that fell out', () => {
  const ring = withLines(withLines(EMPTY_RING, [line(1), line(2)], 3), [line(3), line(4)], 3)
  expect(ring.lines).toEqual([line(2), line(3), line(4)])
  expect(ring.forgotten).toBe(1)
})

test('what was dropped is one line, until the history fills it without doubles', () => {
  const before = withLines(EMPTY_RING, [line(1)], 100)
  const twice = withGap(withGap(before, 30, 2, 100), 7, 3, 100)
  const gap = twice.lines[1]
  if (gap?.kind !== 'gap') throw new Error('there is a gap')
  expect(gap).toEqual({ kind: 'gap', at: 2, dropped: 37 })
  const after = withLines(twice, [line(9)], 100)
  const found = [line(1), line(5), line(9)]
  expect(filled(after, gap, found, true).lines).toEqual([line(1), line(5), line(9)])
  // The history had more than it gave: what is left of the gap stays.
  const rest = { kind: 'gap', at: 2, dropped: 36 }
  expect(filled(after, gap, found, false).lines).toEqual([line(1), rest, line(5), line(9)])
})

test('levels and a text choose lines, and gaps stay', () => {
  const ring = withGap(withLines(EMPTY_RING, [line(1, 'Wheel slips', 'warn'), line(2, 'fine')], 9), 1, 3, 9)
  expect(shownLines(ring.lines, { levels: ['warn'], find: '' }).map(({ at }) => at)).toEqual([1, 3])
  expect(shownLines(ring.lines, { levels: [], find: 'WHEEL' }).map(({ at }) => at)).toEqual([1, 3])
})

test('lines that came since a tail was held are counted from its last line, whatever is loaded or falls out before it', () => {
  const held = line(3)
  const now = [line(2), held, line(4), line(5)]
  expect(linesSince(now, held)).toBe(2)
  // Earlier lines are loaded before them, or the ring is full.
  expect(linesSince([line(0), line(1), ...now], held)).toBe(2)
  expect(linesSince(now.slice(1), held)).toBe(2)
  // The line itself fell out, or it was a gap that was filled.
  expect(linesSince(now.slice(2), held)).toBe(2)
  expect(linesSince([line(1), line(3), line(4)], held)).toBe(1)
})
