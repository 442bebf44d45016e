// A command: one request to one device, from its creation to the device's answer.
import type { BroadcastId, CommandId, Micros, Millis } from '../../../schemas/ids.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { CommandPriority, CommandStatus } from '../../../schemas/vocabulary.ts'

/** How far a message is on its way to the device. It is saved before it is sent (R4), so `attempts` is 0 only while
 *  the device cannot have it. */
export interface Delivery {
  readonly attempts: number
  readonly sentAt: Millis | undefined
  /** The number of the session it was last sent in. */
  readonly sentIn: Micros | undefined
  /** The device's own PUBACK. */
  readonly deliveredAt: Millis | undefined
}

export const NOT_SENT: Delivery = Object.freeze({
  attempts: 0,
  sentAt: undefined,
  sentIn: undefined,
  deliveredAt: undefined,
})

/** The `$cancel` that tells a device to drop what it was sent. */
export interface Notice extends Delivery {
  readonly expiresAt: Millis
}

export interface CommandError {
  readonly code: string
  readonly message: string
}

/** What a device says came of a command. */
export interface CommandResult {
  readonly executedAt: Millis | undefined
  readonly result: Json | undefined
  /** Set instead of `result` when that was over the limit. */
  readonly resultBytesOmitted: number | undefined
  readonly error: CommandError | undefined
}

/** A final answer after the final answer, kept for people to see. */
export interface Conflict extends CommandResult {
  readonly status: CommandStatus
  readonly at: Millis
}

/** Replaced as a whole on change; unchanged is the same reference (R7). */
export interface Command extends CommandResult {
  readonly id: CommandId
  /** `command` on the wire. */
  readonly name: string
  readonly data: JsonObject
  readonly dataBytes: number
  readonly status: CommandStatus
  readonly priority: CommandPriority
  readonly timeoutSec: number
  readonly createdAt: Millis
  readonly createdBy: string
  /** Paced: not sent before. The timeout counts from here. */
  readonly notBefore: Millis | undefined
  readonly expiresAt: Millis
  readonly delivery: Delivery
  readonly deliveredAt: Millis | undefined
  readonly ackedAt: Millis | undefined
  /** When it ended by the device's word: completed, failed or rejected. */
  readonly completedAt: Millis | undefined
  readonly cancelledAt: Millis | undefined
  readonly cancelledBy: string | undefined
  readonly notice: Notice | undefined
  /** Percent. */
  readonly progress: number | undefined
  /** It ended after it had expired. */
  readonly late: boolean
  readonly conflicts: readonly Conflict[]
  readonly broadcastId: BroadcastId | undefined
  readonly idempotencyKey: string | undefined
}

/** Of one device, oldest first: the open ones, and the finished ones that are still kept. */
export type Commands = readonly Command[]

export const NO_COMMANDS: Commands = Object.freeze([])

/** What became of a device's commands; `changed` are new or moved, as they are now: each is announced and goes into
 *  the history. Without changes `commands` is the same reference. */
export interface CommandsChange {
  readonly commands: Commands
  readonly changed: readonly Command[]
}

/** Puts the changed ones in their places. */
export function replace(commands: Commands, changed: readonly Command[]): CommandsChange {
  if (changed.length === 0) return { commands, changed }
  const byId = new Map(changed.map((command) => [command.id, command]))
  return { commands: commands.map((command) => byId.get(command.id) ?? command), changed }
}
