import { expect, test } from 'vitest'
import { alertText } from './alert-text.ts'

const alert = { type: 'threshold', metric: 'battery.percent', value: 57, threshold: 60 }

test('the limit is named, also when the value has moved on since the alert fired', () => {
  const said = 'battery.percent is 57, the limit is 60'
  expect(alertText({ ...alert, message: 'Robot 7: threshold 57 (60)' })).toBe(said)
  expect(alertText({ ...alert, message: 'Robot 7: threshold 59.9 (60)' })).toBe(said)
})

test('a text of its own stays as somebody wrote it', () => {
  for (const message of ['The battery is low', 'Robot 7: threshold 59.9 (61)', 'Robot: absence 1 (60)'])
    expect(alertText({ ...alert, message })).toBe(message)
})
