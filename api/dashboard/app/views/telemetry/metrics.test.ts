import { expect, test } from 'vitest'
import { answeredNames, chosenMetrics } from './metrics.ts'

const metrics = ['battery.percent', 'battery.volts', 'speed', 'temperature'].map((metric) => ({
  metric,
  unit: null,
  timestamp: '2026-03-01T00:00:00Z',
}))
const names = (...chosen: string[]) => chosenMetrics(chosen, metrics).map(({ metric }) => metric)

test('names and patterns choose metrics, in the order of the device', () => {
  expect(names('temperature', 'battery.*')).toEqual(['battery.percent', 'battery.volts', 'temperature'])
  expect(names('battery')).toEqual([])
  expect(names('*')).toHaveLength(4)
})

test('the first two are shown when none is named, and what is true or false comes after numbers', () => {
  expect(names()).toEqual(['battery.percent', 'battery.volts'])
  const charging = {
    metric: 'battery.charging',
    unit: null,
    timestamp: '2026-03-01T00:00:00Z',
    type: 'boolean',
  }
  expect(chosenMetrics([], [charging, ...metrics])).toEqual(metrics.slice(0, 2))
  expect(chosenMetrics([], [charging])).toEqual([charging])
})

test('while more metrics are asked for, those of the earlier answer stay', () => {
  expect(answeredNames(['speed', 'temperature'], ['speed', 'battery.volts'])).toEqual(['speed'])
  expect(answeredNames(['temperature'], ['speed'])).toBeUndefined()
  expect(answeredNames([], ['speed'])).toEqual([])
})
