import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { columnChoices, readColumns, writeColumns } from './column-choices.ts'

const isKnown = (id: string) => ['status', 'name', 'id'].includes(id)
const idsOf = (text: string) => readColumns(text, isKnown).map(({ id }) => id)

describe('the columns in an address', () => {
  test('widths stay within their bounds, and unknown or repeated columns are left out', () => {
    expect(readColumns('name~9999,status~1,nothing,name,metric:,meta:,id', isKnown)).toEqual([
      { id: 'name', widthPx: 800 },
      { id: 'status', widthPx: 56 },
      { id: 'id' },
    ])
  })

  test('more metrics than the service sends along are left out', () => {
    expect(idsOf('metric:a,metric:b,name,metric:c,metric:d,metric:e')).toEqual([
      ...['metric:a', 'metric:b', 'name', 'metric:c', 'metric:d'],
    ])
  })

  test('what is written is read again, whatever the metrics are called', () => {
    const choices = fc.uniqueArray(
      fc.record({
        id: fc.string({ minLength: 1, maxLength: 8 }).map((name) => `meta:${name}`),
        widthPx: fc.option(fc.integer({ min: 56, max: 800 }), { nil: undefined }),
      }),
      { selector: ({ id }) => id, minLength: 1, maxLength: 6 },
    )
    fc.assert(
      fc.property(choices, (given) => {
        const read = readColumns(writeColumns(given), isKnown)
        expect(read.map(({ id, widthPx }) => ({ id, widthPx }))).toEqual(given)
      }),
      { numRuns: 40 },
    )
  })

  test('hostile text shows the usual columns, which are not written', () => {
    const codec = columnChoices(['status', 'name'], isKnown)
    expect(codec.read('%,~~,__proto__').map(({ id }) => id)).toEqual(['status', 'name'])
    expect(codec.write(codec.read(undefined))).toBeUndefined()
    expect(codec.write([{ id: 'name' }])).toBe('name')
  })
})
