// The engine as /ws uses it.
import type { Engine } from '../../engine/index.ts'

export type SocketEngine = Pick<
  Engine,
  | 'views'
  | 'snapshot'
  | 'shadow'
  | 'commands'
  | 'deployments'
  | 'history'
  | 'fleetHistory'
  | 'feed'
  | 'devices'
  | 'alerts'
  | 'audit'
  | 'fleet'
>
