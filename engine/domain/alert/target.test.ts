import { expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { createRule } from './rule.ts'
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

test.each(['a/', '/a', 'a//b', 'a b', '..', 'a/b/c/d/e/f/g/h/i'])(
  'a rule about the group %s, which no device can have, is refused',
  (group) => {
    const wish = { name: 'x', condition: { kind: 'flapping' } } as const
    const about = { id: 'rul_1', by: 'usr_ann', now: Millis(0) }
    expect(createRule({ ...wish, target: { type: 'group', value: group } }, about)).toMatchObject({
      errors: [{ path: '/target/value', code: 'WRONG_FORMAT' }],
    })
    expect(createRule({ ...wish, target: { type: 'query', value: { group } } }, about)).toMatchObject({
      errors: [{ path: '/target/value/group', code: 'WRONG_FORMAT' }],
    })
  },
)
