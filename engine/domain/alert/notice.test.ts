import { expect, test } from 'vitest'
import { AlertId, ChannelId, Millis, RuleId } from '../../../schemas/ids.ts'
import { decodeNotice, encodeNotice, type Notice, noticeKey } from './notice.ts'

const NOTICE: Notice = {
  alertId: AlertId('alt_1'),
  ruleId: RuleId('rul_1'),
  ruleName: 'battery low',
  event: 'fired',
  revision: 1,
  at: Millis(1_700_000_000_000),
  severity: 'warning',
  highestSeverity: 'critical',
  channels: [ChannelId('ch_1')],
  groupBy: 'rule',
  sendResolved: true,
  message: 'Pump: battery low',
  suppressedBy: [],
  alert: { alert_id: 'alt_1', value: 17.5, labels: { toJSON: 'data' } },
  device: { id: 'pump', name: 'Pump', type: 'mqtt_device', group: undefined },
}

test('a notice reads back as it was written', () => {
  expect(decodeNotice(encodeNotice(NOTICE))).toEqual(NOTICE)
  const fleet: Notice = { ...NOTICE, channels: undefined, device: undefined }
  expect(decodeNotice(encodeNotice(fleet))).toEqual(fleet)
})

test('keys are in the order of time, and for one alert in the order of its moves', () => {
  const keys = [
    noticeKey({ ...NOTICE, at: Millis(999) }),
    noticeKey({ ...NOTICE, revision: 9 }),
    noticeKey({ ...NOTICE, revision: 10 }),
    noticeKey({ ...NOTICE, at: Millis(NOTICE.at + 1), alertId: AlertId('alt_0') }),
  ]
  expect([...keys].sort()).toEqual(keys)
})
