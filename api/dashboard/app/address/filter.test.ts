import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FILTER_KEYS, formatQuery, formatTerm, parseQuery, type Term } from './filter.ts'
import { durationMs, problemOf } from './filter-check.ts'
import { onlyValue, toggledValue } from './filter-edit.ts'
import { fromSearch, toSearch } from './query-text.ts'

const value = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }),
  fc.stringMatching(/^[-"\\,:<>= a-z0-9]{1,8}$/),
)
const word = fc.record({
  isNegated: fc.boolean(),
  name: fc.constant(undefined),
  operator: fc.constant(undefined),
  values: fc.array(value, { minLength: 1, maxLength: 3 }),
})
const keyed = fc.record({
  isNegated: fc.boolean(),
  name: fc.oneof(fc.constantFrom(...FILTER_KEYS), fc.stringMatching(/^[a-z][a-z_]{1,8}(\.[A-Z0-9_]{1,4})?$/)),
  operator: fc.constantFrom(undefined, '<' as const, '>' as const, '=' as const),
  values: fc.array(value, { maxLength: 3 }),
})
const query = fc.array(fc.oneof(word, keyed), { maxLength: 6 })

const parsed = (text: string): Term | undefined => parseQuery(text)[0]

describe('text and terms', () => {
  test('every query is the same after it was written and read again', () => {
    fc.assert(
      fc.property(query, (terms) => {
        expect(parseQuery(formatQuery(terms))).toEqual(terms)
      }),
    )
  })

  test('any text is a query, and writing it a second time changes nothing', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 80, unit: 'grapheme' }), (text) => {
        const once = formatQuery(parseQuery(text))
        expect(formatQuery(parseQuery(once))).toBe(once)
      }),
    )
  })

  test('every query survives the address', () => {
    fc.assert(
      fc.property(query, (terms) => {
        const text = formatQuery(terms)
        expect(fromSearch(toSearch({ q: text }))['q'] ?? '').toBe(text)
      }),
    )
  })

  test('the examples of the language read as they are meant', () => {
    const text = 'status:offline group:eu seen:>10m -tag:spare "a b" fw:1.4.2,1.5.0'
    expect(parseQuery(text)).toEqual([
      { isNegated: false, name: 'status', operator: undefined, values: ['offline'] },
      { isNegated: false, name: 'group', operator: undefined, values: ['eu'] },
      { isNegated: false, name: 'seen', operator: '>', values: ['10m'] },
      { isNegated: true, name: 'tag', operator: undefined, values: ['spare'] },
      { isNegated: false, name: undefined, operator: undefined, values: ['a b'] },
      { isNegated: false, name: 'fw', operator: undefined, values: ['1.4.2', '1.5.0'] },
    ])
    expect(formatQuery(parseQuery(text))).toBe(text)
  })

  test('the letter case of a key does not count, that of a metric does', () => {
    expect(parsed('Status:online')?.name).toBe('status')
    expect(parsed('Battery.Percent:<20')?.name).toBe('Battery.Percent')
  })

  test('a colon in quotes belongs to a word', () => {
    expect(parsed('"a:b"')).toMatchObject({ name: undefined, values: ['a:b'] })
  })
})

describe('what is wrong with a term', () => {
  const problem = (text: string, metrics: readonly string[] = []) => {
    const term = parsed(text)
    return term === undefined ? undefined : problemOf(term, metrics)
  }

  test('an unknown key is named with the nearest one', () => {
    expect(problem('statsu:online')).toEqual({ kind: 'unknown-key', nearest: 'status' })
    expect(problem('xyzzyx:1')).toEqual({ kind: 'unknown-key', nearest: undefined })
    expect(problem('batery.percent:<20', ['battery.percent'])).toEqual({
      kind: 'unknown-key',
      nearest: 'battery.percent',
    })
  })

  test('an unknown word of a closed list is named with the nearest one', () => {
    expect(problem('status:offlin')).toEqual({ kind: 'unknown-word', value: 'offlin', nearest: 'offline' })
    expect(problem('group:nowhere')).toBeUndefined()
  })

  test('ages need a duration and a direction', () => {
    expect(problem('seen:>10m')).toBeUndefined()
    expect(problem('seen:never')).toBeUndefined()
    expect(problem('seen:>soon')).toEqual({ kind: 'no-duration', value: 'soon' })
    expect(problem('since:10m')).toEqual({ kind: 'wrong-operator' })
  })

  test('metrics need a number and a direction', () => {
    expect(problem('t:<-2.5', ['t'])).toBeUndefined()
    expect(problem('t:<cold', ['t'])).toEqual({ kind: 'no-number', value: 'cold' })
    expect(problem('t:4', ['t'])).toEqual({ kind: 'wrong-operator' })
  })

  test('a term that is still being typed is not wrong', () => {
    expect(problem('status:')).toBeUndefined()
    expect(problem('seen:>')).toBeUndefined()
  })
})

describe('edits', () => {
  test('a facet that is switched on and off again leaves the query as it was', () => {
    fc.assert(
      fc.property(query, fc.constantFrom(...FILTER_KEYS), value, (terms, key, chosen) => {
        const isFree = !terms.some(({ name, operator, isNegated }) => {
          return name === key && operator === undefined && !isNegated
        })
        fc.pre(isFree)
        expect(toggledValue(toggledValue(terms, key, chosen), key, chosen)).toEqual(terms)
      }),
    )
  })

  test('a second value of the same key is an alternative', () => {
    expect(formatQuery(toggledValue(parseQuery('status:offline x'), 'status', 'error'))).toBe(
      'status:offline,error x',
    )
    expect(formatQuery(toggledValue(parseQuery('status:offline,error x'), 'status', 'offline'))).toBe(
      'status:error x',
    )
  })

  test('a tile asks for its status alone, whatever the filter asked of statuses before', () => {
    const filter = parseQuery('status:offline,error -status:online group:eu')
    expect(formatQuery(onlyValue(filter, 'status', 'offline'))).toBe('-status:online group:eu status:offline')
  })

  test('a duration is read with its unit', () => {
    expect([durationMs('90s'), durationMs('1.5h'), durationMs('2'), durationMs('m')]).toEqual([
      90_000,
      5_400_000,
      undefined,
      undefined,
    ])
  })

  test('one term is written as it is in a query', () => {
    expect(parseQuery('-tag:"a b"').map(formatTerm)).toEqual(['-tag:"a b"'])
  })
})
