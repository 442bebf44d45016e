import { expect, test } from 'vitest'
import { severityOf } from './metric-severity.ts'

test('a value is as bad as the bounds of its type say', () => {
  const type = {
    telemetry: [{ field: 'battery', alert_below: 30, alert_above: 95 }],
    status_fields: [{ field: 'battery', critical_below: 10, warn_below: 20 }],
  } as unknown as Parameters<typeof severityOf>[2]
  const judged = [5, 15, 25, 50, 99, 'low'].map((value) => severityOf(value, 'battery', type))
  expect(judged).toEqual(['critical', 'warning', 'warning', undefined, 'warning', undefined])
  expect(severityOf(5, 'other', type)).toBeUndefined()
})
