// Who may subscribe to which channel, and to which of its events. Viewers see devices, but not what is done to them.
import type { FeedEvent } from '../../engine/index.ts'
import { ROLES, type Role } from '../../schemas/vocabulary.ts'
import type { ChannelName } from '../../schemas/ws.ts'
import { timelineKinds } from '../auth/timeline-access.ts'

const OPERATORS = ['admin', 'operator'] as const

export const CHANNEL_ROLES: Readonly<Record<ChannelName, readonly Role[]>> = {
  devices: ROLES,
  telemetry: ROLES,
  commands: OPERATORS,
  shadows: ROLES,
  ota: OPERATORS,
  logs: ROLES,
  events: ROLES,
  alerts: ROLES,
  audit: ['admin'],
  fleet: ROLES,
}

/** Every event of these channels counts, so events are not merged and `throttle_ms` has no effect. */
export const FEED_CHANNELS: ReadonlySet<ChannelName> = new Set(['logs', 'events', 'alerts', 'audit'])

/** Checks single events, in addition to the roles of their channel. */
export function mayReceive(event: FeedEvent, role: Role): boolean {
  return event.kind !== 'timeline' || timelineKinds(role).some((kind) => kind === event.row.kind)
}
