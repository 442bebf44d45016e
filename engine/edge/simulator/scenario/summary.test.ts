import { expect, test } from 'vitest'
import { Histogram } from '../../histogram.ts'
import { Counts, isMetric, judge, summaryOf } from './summary.ts'

function summary() {
  const counts = new Counts()
  counts.published = 12
  counts.error('refused')
  counts.error('disconnected', 2)
  counts.moveOta(undefined, 'downloading')
  counts.moveOta('downloading', 'succeeded')
  counts.moveOta(undefined, 'rejected')
  const latency = new Histogram()
  for (const micros of [1_000, 2_000, 90_000]) latency.record(micros)
  return summaryOf({ name: 'x', seed: 1, elapsedMs: 1_234 }, counts, latency)
}

test('devices are counted by their latest update status, and errors by kind', () => {
  expect(summary()).toMatchObject({
    ...{ published: 12, duration_sec: 1.2, ota: { succeeded: 1, rejected: 1 } },
    errors: { total: 3, disconnected: 2, refused: 1 },
    max_ms: 90,
  })
  expect(summary().ota).not.toHaveProperty('downloading')
})

test('expectations are compared with the summary, in which a missing count is zero', () => {
  const judged = (metric: string, op: '==' | '<' | '>=', value: number) =>
    judge({ metric, op, value }, summary())
  expect(judged('published', '>=', 12)).toMatchObject({ met: true, actual: 12 })
  expect(judged('published', '<', 12)).toMatchObject({ met: false })
  expect(judged('ota.succeeded', '==', 1).met).toBe(true)
  expect(judged('ota.failed', '==', 0).met).toBe(true)
  expect(judged('errors.total', '==', 3).met).toBe(true)
})

test('valid names of metrics are recognised', () => {
  for (const name of ['p99_ms', 'commands.completed', 'errors.refused', 'ota.timed_out'])
    expect(isMetric(name)).toBe(true)
  for (const name of ['p98', 'commands', 'errors.x', 'ota.', 'ota']) expect(isMetric(name)).toBe(false)
})
