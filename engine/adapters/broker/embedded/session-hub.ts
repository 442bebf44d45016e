// What sessions share and what one is made from: the seam between a session and its broker.
import type { DeviceId, Micros, Partition } from '../../../../schemas/ids.ts'
import type { UplinkHost, UplinkMessage } from '../../../ports/broker.ts'
import type { Will } from './connect.ts'
import type { FollowUp } from './follow-ups.ts'
import type { Allowance } from './publish-limit.ts'
import type { Session } from './session.ts'
import type { SessionState } from './session-state.ts'
import type { Wire } from './wire.ts'

export interface SessionHub {
  readonly host: UplinkHost
  /** Filled anew for every message (S2). */
  readonly message: { -readonly [Key in keyof UplinkMessage]: UplinkMessage[Key] }
  readonly publishes: [number, number, number]
  bytesIn: number
  refusedTopics: number
  cutFrozen: number
  shedQos0: number
  /** Monotonic milliseconds at the last sweep. */
  readonly tick: number
  attach(session: Session): Wire
  /** Retains or echoes a durable message. */
  follow(deviceId: DeviceId, followUp: FollowUp): Promise<unknown>
  liveSession(deviceId: DeviceId): Session | undefined
  paused(session: Session): void
  /** Something may be read again: looks at the paused sessions soon. */
  relieved(): void
  ended(session: Session): void
}

export interface SessionFacts {
  readonly deviceId: DeviceId
  readonly partition: Partition
  readonly number: Micros
  readonly ip: string
  readonly mayPublish: boolean
  readonly maySubscribe: boolean
  readonly expiresAt: number
  readonly keepAliveMs: number
  readonly will: Will | undefined
  readonly state: SessionState
  /** Undefined: it may publish as fast as it likes. */
  readonly allowance: Allowance | undefined
}
