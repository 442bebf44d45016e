// A channel for tests that need one of whatever kind.
import type { ChannelSettings } from '../../engine/domain/alert/channel.ts'

export const webhookChannel: ChannelSettings = {
  name: 'hook',
  enabled: true,
  severity: ['info', 'warning', 'critical'],
  isDefault: false,
  group: undefined,
  groupWaitSec: 10,
  groupIntervalSec: 60,
  ratePerMinute: 60,
  fallbackChannelId: undefined,
  sendResolved: undefined,
  target: {
    kind: 'webhook',
    url: 'https://hooks.example.com/',
    method: 'POST',
    headers: {},
    template: undefined,
    secret: '',
    former: undefined,
  },
}
