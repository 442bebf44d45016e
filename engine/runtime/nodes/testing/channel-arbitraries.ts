// For tests: calls about channels, and their answers.
import fc from 'fast-check'
import { ChannelId, Millis } from '../../../../schemas/ids.ts'
import { ALERT_SEVERITIES, CHANNEL_STATES } from '../../../../schemas/vocabulary.ts'
import type { Channel, ChannelTarget } from '../../../domain/alert/channel.ts'
import type { ChannelAnswer, ChannelCall } from '../../../ports/alert-channels.ts'
import type { EngineRefusal } from '../../../ports/engine-refusal.ts'
import { name, optional } from './small-arbitraries.ts'

const id = name.map(ChannelId)
const at = fc.nat({ max: 2 ** 42 }).map(Millis)
const target: fc.Arbitrary<ChannelTarget> = fc.oneof(
  fc.record({
    kind: fc.constant('webhook' as const),
    url: name,
    method: fc.constantFrom('POST', 'PUT'),
    headers: fc.constant({ 'x-a': 'b' }),
    template: optional(name),
    secret: name,
    former: optional(fc.record({ secret: name, until: at })),
  }),
  fc.record({ kind: fc.constant('email' as const), to: fc.array(name), subject: optional(name) }),
)
const settings = {
  name,
  enabled: fc.boolean(),
  severity: fc.subarray([...ALERT_SEVERITIES]),
  isDefault: fc.boolean(),
  group: optional(name),
  groupWaitSec: fc.nat(),
  groupIntervalSec: fc.nat(),
  ratePerMinute: fc.nat(),
  fallbackChannelId: optional(id),
  sendResolved: optional(fc.boolean()),
  target,
}
const channel: fc.Arbitrary<Channel> = fc.record({
  ...settings,
  id,
  health: fc.record({
    state: fc.constantFrom(...CHANNEL_STATES),
    lastError: optional(fc.record({ code: name, at })),
    failures: fc.nat(),
  }),
  ...{ createdAt: at, createdBy: name, updatedAt: at, revision: fc.nat() },
})

export const anyChannelCall: fc.Arbitrary<ChannelCall> = fc.oneof(
  fc.record({ op: fc.constant('list' as const) }),
  fc.record({ op: fc.constant('create' as const), id, settings: fc.record(settings), by: name }),
  fc.record({ op: fc.constant('remove' as const), id, force: fc.boolean() }),
  fc.record({ op: fc.constant('deliveries' as const), id, offset: fc.nat(), limit: fc.nat() }),
)

export const anyChannelAnswer = (refused: fc.Arbitrary<EngineRefusal>): fc.Arbitrary<ChannelAnswer> =>
  fc.oneof(
    refused,
    fc.record({ kind: fc.constant('channels' as const), channels: fc.array(channel, { maxLength: 3 }) }),
    fc.record({ kind: fc.constant('channel' as const), channel }),
    fc.record({
      kind: fc.constant('tested' as const),
      result: fc.record({ kind: fc.constant('failed' as const), code: name }),
      latencyMs: fc.nat(),
    }),
  )
