import { describe, expect, test } from 'vitest'
import { type Figure, toDigits, toReport, toTable, verdictOf } from './report.ts'

const figure: Figure = { scenario: 'ingest', name: 'messages/s', value: 81_234.4, unit: '' }

test('a figure is met or missed only if it has a target', () => {
  expect(verdictOf(figure)).toBe('')
  expect(verdictOf({ ...figure, target: { kind: 'at_least', value: 80_000 } })).toBe('met')
  expect(verdictOf({ ...figure, target: { kind: 'at_most', value: 80_000 } })).toBe('missed')
})

test('the table is aligned, names each scenario once, and shows targets and floors', () => {
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

describe('the report', () => {
  const rest = { order: ['floors', 'ingest', 'rest'], method: '## Method\n\nCarefully.\n' }
  const part = (name: string, value: number) => ({
    ...{ name, about: 'what it measures', conditions: `measured with ${value}` },
    figures: [{ ...figure, value }],
  })
  const headings = (report: string) => report.match(/^#+ .*$/gm)

  test('has the parts in order, followed by the method', () => {
    const report = toReport('', [part('rest', 2), part('floors', 1)], rest)
    expect(headings(report)).toEqual(['# Benchmarks', '## floors', '## rest', '## Method'])
    expect(report).toContain('Measures what it measures.\n\nmeasured with 1.\n\n| scenario')
    expect(report).toMatch(/Carefully\.\n$/)
  })

  test('keeps parts that were not measured again, and drops parts of scenarios that no longer exist', () => {
    const before = toReport('', [part('floors', 1), part('rest', 2)], rest)
    const after = toReport(before, [part('ingest', 3), part('rest', 4)], rest)
    expect(headings(after)).toEqual(['# Benchmarks', '## floors', '## ingest', '## rest', '## Method'])
    expect(after.match(/measured with \d/g)).toEqual([
      'measured with 1',
      'measured with 3',
      'measured with 4',
    ])
    expect(headings(toReport(after, [], { ...rest, order: ['rest'] }))).toEqual([
      '# Benchmarks',
      '## rest',
      '## Method',
    ])
    expect(toReport(after, [], rest)).toBe(after)
  })
})
