import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  collect,
  instant,
  jsonObject,
  laterInstant,
  parameter,
  wholeNumber,
  words,
} from './option-parsers.ts'

const NOW = Date.UTC(2026, 2, 1, 12)

describe('an instant', () => {
  test.each([
    ['90s', '2026-03-01T11:58:30.000Z'],
    ['15m', '2026-03-01T11:45:00.000Z'],
    ['2h', '2026-03-01T10:00:00.000Z'],
    ['7d', '2026-02-22T12:00:00.000Z'],
    ['-2h', '2026-03-01T10:00:00.000Z'],
    ['now', '2026-03-01T12:00:00.000Z'],
    ['2026-02-01', '2026-02-01T00:00:00.000Z'],
    ['2026-02-01T08:00:00+01:00', '2026-02-01T07:00:00.000Z'],
  ])('%s is parsed', (text, iso) => expect(instant(text, NOW)).toBe(iso))

  test.each(['', 'soon', '2', 'h', '+1h', '2y', '2h30m', '2026-02-30'])('"%s" is refused as a time', (text) =>
    expect(() => instant(text, NOW)).toThrow(/or an age such as/),
  )
})

test.each(['2h', '+2h'])('the end of a lifetime of %s is that far in the future', (text) => {
  const before = Date.now()
  const at = Date.parse(laterInstant(text))
  expect(at).toBeGreaterThanOrEqual(before + 7_200_000)
  expect(at).toBeLessThanOrEqual(Date.now() + 7_200_000)
  expect(laterInstant('2027-01-01')).toBe('2027-01-01T00:00:00.000Z')
  expect(() => laterInstant('soon')).toThrow(/or an age such as/)
})

test('a list with an unknown word is refused with the known words', () => {
  const parse = words(['avg', 'p95'])
  expect(parse('p95, avg')).toEqual(['p95', 'avg'])
  expect(parse('avg', ['p95'])).toEqual(['p95', 'avg'])
  for (const text of ['', 'avg,', 'avg,p96'])
    expect(() => parse(text)).toThrow('Allowed choices are avg, p95')
})

describe('a whole number', () => {
  test.each(['0', '11', '1.5', '-1', '1e1', '', ' 1', '0x1'])(
    '"%s" is refused as a whole number from 1 to 10',
    (text) => expect(() => wholeNumber(1, 10)(text)).toThrow('from 1 to 10'),
  )
  test('a whole number in range is accepted', () => expect(wholeNumber(1, 10)('7')).toBe(7))
})

describe('a JSON object', () => {
  test('a JSON object is read from the argument or from a file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'fleet-cli-'))
    const path = join(folder, 'wanted.json')
    writeFileSync(path, '{"b": [1]}')
    expect([jsonObject('{"a": null}'), jsonObject(`@${path}`)]).toEqual([{ a: null }, { b: [1] }])
    rmSync(folder, { recursive: true })
    expect(() => jsonObject(`@${path}`)).toThrow(/cannot be read/)
  })

  test.each(['{"a"', '[]', 'null', '1', '"a"', ''])('%j is refused as a JSON object', (text) =>
    expect(() => jsonObject(text)).toThrow(/expected a JSON object/),
  )
})

test('a file from Windows is read without its byte order mark', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-json-'))
  try {
    const file = join(folder, 'wanted.json')
    writeFileSync(file, '\ufeff{"speed": 1}')
    expect(jsonObject(`@${file}`)).toEqual({ speed: 1 })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('parameters are merged, and values are parsed as JSON where possible', () => {
  const all = ['x=3', 'text=hello', 'on=true', 'eq=a=b', 'at={"y":1}', 'none='].reduce(
    (before, text) => parameter(text, before),
    {},
  )
  expect(all).toEqual({ x: 3, text: 'hello', on: true, eq: 'a=b', at: { y: 1 }, none: '' })
  expect(() => parameter('=3', undefined)).toThrow('name=value')
  expect(() => parameter('x', undefined)).toThrow('name=value')
})

test('a repeated option becomes a list', () => {
  expect(collect('b', collect('a', undefined))).toEqual(['a', 'b'])
})
