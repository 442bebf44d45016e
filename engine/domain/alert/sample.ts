// A made-up alert, to test a channel.
import { AlertId, Millis, RuleId, toIso } from '../../../schemas/ids.ts'
import type { NotificationItem } from './delivery.ts'
import type { Notice } from './notice.ts'

interface Links {
  readonly device: (id: string) => string
}

const DEVICE = { id: 'test-device', name: 'Test device', type: 'simulator', group: 'test' }

/** `name` keeps the samples of a channel apart. */
export function sampleItem(name: string, links: Links, now: Millis): NotificationItem {
  const message = 'TEST: this is a test of the channel, and nothing is wrong'
  const link = links.device(DEVICE.id)
  const at = toIso(now)
  const alert = {
    ...{ alert_id: `alt_test_${name}`, rule_id: 'rul_test', rule_name: 'Test of a channel', scope: 'device' },
    ...{ device_id: DEVICE.id, group: DEVICE.group, type: 'threshold', metric: 'test', severity: 'info' },
    ...{ state: 'firing', acknowledged: false, value: 1, threshold: 0, message, labels: {}, count: 1 },
    ...{ started_at: at, fired_at: at, resolved_at: null, last_value_at: at, link },
  }
  const notice: Notice = {
    ...{
      alertId: AlertId(alert.alert_id),
      ruleId: RuleId('rul_test'),
      ruleName: alert.rule_name,
      event: 'fired',
    },
    ...{
      revision: 1,
      // The name alone tells samples apart.
      at: Millis(0),
      severity: 'info',
      highestSeverity: 'info',
      channels: undefined,
      groupBy: 'none',
    },
    ...{ sendResolved: false, message, suppressedBy: [], alert, device: DEVICE },
  }
  const told = {
    ...{ event: notice.event, ruleId: notice.ruleId, ruleName: notice.ruleName, severity: notice.severity },
    ...{ message, alert, device: { ...DEVICE, link } },
  }
  return { notice, told }
}
