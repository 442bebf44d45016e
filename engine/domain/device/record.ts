// The durable record of a device, and the session facts that are not durable. Pure data (R3, R7).
import type { DeviceId, Micros, Millis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { DeviceStatus } from '../../../schemas/vocabulary.ts'
import type { Commands } from '../command/record.ts'
import type { Shadow } from '../shadow/record.ts'

/** What the store lists, and everyone is shown. Replaced as a whole on change; unchanged is the same reference (R7). */
export interface DeviceRecord {
  readonly id: DeviceId
  readonly name: string
  readonly type: string
  readonly description: string | undefined
  readonly group: string | undefined
  readonly tags: readonly string[]
  readonly metadata: JsonObject
  readonly parentId: DeviceId | undefined
  readonly status: DeviceStatus
  readonly statusReason: string | undefined
  readonly statusSince: Millis
  /** Device tokens issued before this instant are void. */
  readonly tokensValidFrom: Millis
  readonly firmwareVersion: string | undefined
  readonly issues: readonly string[]
  /** When the status last moved on a sign of life; the live value is a vital. */
  readonly seenAt: Millis | undefined
  readonly createdAt: Millis
  readonly createdBy: string
  /** The idempotency key it was registered with. */
  readonly registrationKey?: string | undefined
  readonly updatedAt: Millis
  /** +1 per change of the record; the ETag. */
  readonly revision: number
}

/** All that is durable of a device. The shadow has its own version, `revision` counts neither it nor the commands. */
export interface Device extends DeviceRecord {
  readonly shadow: Shadow
  readonly commands: Commands
}

/** Without what is large, and shown by itself. */
export function toRecord({ shadow: _, commands: __, ...record }: Device): DeviceRecord {
  return record
}

/** One MQTT connection, told apart from the device's other connections by its number. */
export interface Session {
  /** The receive time of its CONNECT: unique, and greater than that of every earlier session. */
  readonly number: Micros
  readonly ip: string
  readonly since: Millis
  /** It has subscribed to commands: only then is it sent any. */
  readonly listens: boolean
}

/** How a device is reached just now: by its own session, or by that of its gateway. */
export interface Way {
  readonly session: Micros
  readonly via: DeviceId | undefined
}
