import { describe, expect, test } from 'vitest'
import { MetricValues } from './metric-values.ts'
import { columnsOf, device } from './testing/fleet-model.ts'

describe('values of metrics as columns', () => {
  test('a newer value replaces the older one, and what is no number has no place in a column', () => {
    const values = new MetricValues()
    values.take({ device_id: ['a', 'b', 'c'], values: { t: [1, 'warm', null] } })
    values.take({ device_id: ['a'], values: { t: [2] } })
    const columns = columnsOf(device('a'), device('b'), device('c'))
    const column = values.columnsOf(['t', 'u'], columns)
    const at = (metric: string, id: string) => column[metric]?.[columns.rowOf(id) ?? -1]
    expect([at('t', 'a'), at('t', 'b'), at('t', 'c'), at('u', 'a')]).toEqual([
      2,
      Number.NaN,
      Number.NaN,
      Number.NaN,
    ])
    expect(values.of('t', 'b')).toBe('warm')
  })
})

test('an answer does not replace what was heard while it was under way', () => {
  const values = new MetricValues()
  values.beginAnswer()
  values.take({ device_id: ['oven-1'], values: { heat: [200] } })
  values.takeAnswer({ device_id: ['oven-1', 'oven-2'], values: { heat: [180, 90] } })
  expect([values.of('heat', 'oven-1'), values.of('heat', 'oven-2')]).toEqual([200, 90])
  values.beginAnswer()
  values.takeAnswer({ device_id: ['oven-1'], values: { heat: [210] } })
  expect(values.of('heat', 'oven-1')).toBe(210)
})
