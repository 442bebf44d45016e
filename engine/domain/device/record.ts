// The durable record of a device, and the session facts that are not durable. Pure data (R3, R7).
import type { DeviceId, Micros, Millis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { DeviceStatus } from '../../../schemas/vocabulary.ts'
import type { Alerts } from '../alert/alerts-part.ts'
import type { Commands } from '../command/record.ts'
import type { Firmware } from '../ota/firmware-part.ts'
import type { Shadow } from '../shadow/record.ts'

/** The part that the store lists and the API shows. Replaced as a whole on change; the same reference means unchanged
 *  (R7). */
export interface DeviceRecord {
  readonly id: DeviceId
  readonly name: string
  readonly type: string
  readonly description: string | undefined
  readonly group: string | undefined
  readonly tags: readonly string[]
  readonly metadata: JsonObject
  readonly parentId: DeviceId | undefined
  /** Left out if the timeout of the type or the service applies. */
  readonly heartbeatTimeoutSec?: number | undefined
  readonly status: DeviceStatus
  readonly statusReason: string | undefined
  readonly statusSince: Millis
  /** Device tokens issued before this instant are void. */
  readonly tokensValidFrom: Millis
  readonly firmwareVersion: string | undefined
  /** The texts of the faults that the device is in `error` for. */
  readonly issues: readonly string[]
  /** Their names, by position: see `faultNamesOf`. */
  readonly faultNames?: readonly string[] | undefined
  /** When the device was last heard before its latest change of status. The live value is a vital. */
  readonly seenAt: Millis | undefined
  readonly createdAt: Millis
  readonly createdBy: string
  /** The latest dead letters that were replayed: their names, and the log positions at which they took effect. */
  readonly replayed?: readonly ReplayedLetter[] | undefined
  /** The log position of its registration. */
  readonly registrationPlace?: number | undefined
  /** The idempotency key of its registration. */
  readonly registrationKey?: string | undefined
  readonly updatedAt: Millis
  /** Increases by one with every change of the record. Used as the ETag. */
  readonly revision: number
}

export interface ReplayedLetter {
  readonly letter: string
  readonly place: number
}

/** Everything durable of a device. `revision` counts changes of the record alone: the shadow has its own version. */
export interface Device extends DeviceRecord {
  readonly shadow: Shadow
  readonly commands: Commands
  readonly firmware: Firmware
  readonly alerts: Alerts
}

/** Leaves out the large parts, which are shown separately. */
export function toRecord({
  shadow: _,
  commands: __,
  firmware: ___,
  alerts: ____,
  ...record
}: Device): DeviceRecord {
  return record
}

/** One MQTT connection, identified among the device's connections by its number. */
export interface Session {
  /** The receive time of its CONNECT, which is unique and greater than those of all earlier sessions. */
  readonly number: Micros
  readonly ip: string
  readonly since: Millis
  /** True once the device has subscribed to commands. Until then it is sent none. */
  readonly listens: boolean
  /** True once the device has subscribed to messages about firmware. */
  readonly takesOta: boolean
  /** When its token was issued. Only set if the broker does not know which tokens were revoked. */
  readonly issuedAt: Millis | undefined
}

/** The session through which the device is reachable now: its own, or its gateway's. */
export interface DownlinkRoute {
  readonly session: Micros
  readonly via: DeviceId | undefined
}
