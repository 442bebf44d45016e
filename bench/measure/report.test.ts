import { expect, test } from 'vitest'
import { type Figure, toDigits, toReport, toTable, verdictOf } from './report.ts'

const figure: Figure = { scenario: 'ingest', name: 'messages/s', value: 81_234.4, unit: '' }

test('a figure is met or missed only if it has a target', () => {
  expect(verdictOf(figure)).toBe('')
  expect(verdictOf({ ...figure, target: { kind: 'at_least', value: 80_000 } })).toBe('met')
  expect(verdictOf({ ...figure, target: { kind: 'at_most', value: 80_000 } })).toBe('missed')
})

test('the table is aligned, names a scenario once, and shows targets and floors', () => {
  const table = toTable([
    {
      ...figure,
      target: { kind: 'at_least', value: 80_000 },
      floorShare: { of: 'bare aedes', share: 0.634 },
    },
    { ...figure, name: 'CPU', value: 14.55, unit: 'µs' },
  ])
  const lines = table.split('\n')
  expect(new Set(lines.map((line) => line.length)).size).toBe(1)
  expect(lines[2]).toContain('| 81 234 ')
  expect(lines[2]).toContain('| ≥ 80 000 | met | 63.4 % of bare aedes')
  expect(lines[3]).toMatch(/^\| {10}\| CPU +\| 14.6 µs /)
})

test('numbers are rounded to three digits, with thousands separated', () => {
  expect([0.1234, 12.345, 999.6, 640_000, Number.NaN].map(toDigits)).toEqual([
    '0.123',
    '12.3',
    '1000',
    '640 000',
    '–',
  ])
})

test('the report holds machine, table and method', () => {
  const report = toReport({ figures: [figure], machine: [['commit', 'abc']], method: '## Method\n' })
  expect(report).toMatch(/^# Benchmarks\n/)
  expect(report).toContain('- commit: abc')
  expect(report).toContain('## Method')
})
