import { expect, test } from 'vitest'
import { judgedMetric } from './condition-metric.ts'

test('a threshold and a range have their limits as lines', () => {
  expect(judgedMetric({ kind: 'threshold', metric: 'temperature', op: '>', value: 80 })).toEqual({
    metric: 'temperature',
    limits: [80],
  })
  expect(judgedMetric({ kind: 'range', metric: 'battery.percent', min: 0, max: 100 })?.limits).toEqual([
    0, 100,
  ])
})

test('a threshold of a text has a metric and no line', () => {
  expect(judgedMetric({ kind: 'threshold', metric: 'mode', op: '==', value: 'fault' })?.limits).toEqual([])
})

test('the first value of a tree is drawn', () => {
  const battery = { kind: 'threshold', metric: 'battery.percent', op: '<', value: 10 } as const
  const state = { kind: 'state', in: ['offline'] } as const
  expect(judgedMetric({ all: [state, { not: { any: [battery] } }] })?.metric).toBe('battery.percent')
  expect(judgedMetric({ kind: 'repeat', condition: battery, times: 3, within_sec: 60 })?.limits).toEqual([10])
})

test('a condition that judges no value has nothing to draw', () => {
  expect(judgedMetric({ kind: 'state', in: ['offline'] })).toBeUndefined()
  expect(judgedMetric({ kind: 'absence', for_sec: 300 })).toBeUndefined()
  expect(judgedMetric({ any: [] })).toBeUndefined()
})
