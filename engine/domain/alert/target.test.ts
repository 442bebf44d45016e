import { expect, test } from 'vitest'
import { JudgedDevice, ruleOf } from './testing/judged-device.ts'

test('a query for no firmware version is about devices whose version is unknown, as in GET /devices', () => {
  const device = new JudgedDevice([ruleOf({ target: { type: 'query', value: { firmware_version: '' } } })])
  device.report(1, { m: 11 })
  device.change(2, { firmwareVersion: '1.0.0' })
  expect(device.seen).toMatchObject([
    { at: 1, event: 'fired' },
    { at: 2, event: 'resolved', reason: 'target_left' },
  ])
})
