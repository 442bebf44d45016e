// Who may listen to which channel, and to which of its events. A viewer sees devices, not what is done to them.
import type { FeedEvent } from '../../engine/index.ts'
import { ROLES, type Role } from '../../schemas/vocabulary.ts'
import type { ChannelName } from '../../schemas/ws.ts'
import { timelineKinds } from '../auth/timeline-access.ts'

const OPERATING = ['admin', 'operator'] as const

export const CHANNEL_ROLES: Readonly<Record<ChannelName, readonly Role[]>> = {
  devices: ROLES,
  telemetry: ROLES,
  commands: OPERATING,
  shadows: ROLES,
  ota: OPERATING,
  logs: ROLES,
  events: ROLES,
  alerts: ROLES,
  audit: ['admin'],
  fleet: ROLES,
}

/** Their events add up: none stands for another, so they are not merged, and a `throttle_ms` does nothing. */
export const FEED_CHANNELS: ReadonlySet<ChannelName> = new Set(['logs', 'events', 'alerts', 'audit'])

/** Judges single events on top of the roles of their channel. */
export function mayHear(event: FeedEvent, role: Role): boolean {
  return event.kind !== 'timeline' || timelineKinds(role).some((kind) => kind === event.row.kind)
}
