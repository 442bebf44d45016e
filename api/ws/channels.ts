// Who may listen to which channel. A viewer sees devices, not what is done to them.
import { ROLES, type Role } from '../../schemas/vocabulary.ts'
import type { ChannelName } from '../../schemas/ws.ts'

const OPERATING = ['admin', 'operator'] as const

export const CHANNEL_ROLES: Readonly<Record<ChannelName, readonly Role[]>> = {
  devices: ROLES,
  telemetry: ROLES,
  commands: OPERATING,
  shadows: ROLES,
  ota: OPERATING,
  alerts: ROLES,
  logs: ROLES,
  events: ROLES,
}
