import { describe, expect, test } from 'vitest'
import { parseRule, render } from './rule.ts'

describe('the rules of EMQX', () => {
  test('SELECT comes before WHERE, so it fails on what WHERE would exclude', () => {
    const rule = parseRule(`SELECT json_decode(payload) as it FROM "t/#" WHERE topic =~ 't/json'`)
    expect(rule.run({ topic: 't/json', payload: '{"a":1}' })).toEqual([{ it: { a: 1 } }])
    expect(rule.run({ topic: 't/other', payload: '{}' })).toEqual([])
    expect(() => rule.run({ topic: 't/other', payload: 'no JSON' })).toThrow()
  })

  test('DO runs once for each item, and not at all for none', () => {
    const rule = parseRule(
      `FOREACH CASE WHEN topic = 'two' THEN [1, 2] ELSE [] END as it DO it, json_decode(payload) as a FROM "#"`,
    )
    expect(rule.run({ topic: 'two', payload: '3' })).toEqual([
      { it: 1, a: 3 },
      { it: 2, a: 3 },
    ])
    expect(rule.run({ topic: 'none', payload: 'no JSON' })).toEqual([])
  })

  test('a comparison with a missing value is false, and a missing value is written as undefined', () => {
    const rule = parseRule(
      `SELECT CASE WHEN a.b = c THEN 1 ELSE 0 END as same, a.b as b FROM "#" WHERE c = 'x' and d = 1`,
    )
    const [selected = {}] = rule.run({ c: 'x', d: 1 })
    expect(selected).toEqual({ same: 0, b: undefined })
    expect(render('$' + '{b} $' + '{.}', selected)).toBe('undefined {"same":0,"b":"undefined"}')
    expect(rule.run({ c: 'x' })).toEqual([])
  })
})
