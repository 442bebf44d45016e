// A command: one request to one device, from its creation to the device's answer.
import type { BroadcastId, CommandId, Micros, Millis } from '../../../schemas/ids.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { CommandPriority, CommandStatus } from '../../../schemas/vocabulary.ts'

/** How far a message has come on its way to the device. Saved before the message is sent (R4), so `attempts` is 0 only if
 *  the device cannot have received it. */
export interface Delivery {
  readonly attempts: number
  readonly sentAt: Millis | undefined
  /** The number of the session in which it was last sent. */
  readonly sentIn: Micros | undefined
  /** Time of the device's PUBACK. */
  readonly deliveredAt: Millis | undefined
}

export const NOT_SENT: Delivery = Object.freeze({
  attempts: 0,
  sentAt: undefined,
  sentIn: undefined,
  deliveredAt: undefined,
})

/** The `$cancel` message that tells a device to drop a command it was sent. */
export interface Notice extends Delivery {
  readonly expiresAt: Millis
}

export interface CommandError {
  readonly code: string
  readonly message: string
}

/** What the device says about the outcome of a command. */
export interface CommandResult {
  readonly executedAt: Millis | undefined
  readonly result: Json | undefined
  /** Set instead of `result` if the result exceeded the limit. */
  readonly resultBytesOmitted: number | undefined
  readonly error: CommandError | undefined
}

/** A final answer that contradicts an earlier one, stored so that people can see it. */
export interface Conflict extends CommandResult {
  readonly status: CommandStatus
  readonly at: Millis
}

/** Replaced as a whole on change. The same reference means unchanged (R7). */
export interface Command extends CommandResult {
  readonly id: CommandId
  /** Called `command` on the wire. */
  readonly name: string
  readonly data: JsonObject
  readonly dataBytes: number
  readonly status: CommandStatus
  readonly priority: CommandPriority
  readonly timeoutSec: number
  readonly createdAt: Millis
  readonly createdBy: string
  /** A paced command is not sent before this time, and its timeout starts then. */
  readonly notBefore: Millis | undefined
  readonly expiresAt: Millis
  readonly delivery: Delivery
  readonly deliveredAt: Millis | undefined
  readonly ackedAt: Millis | undefined
  /** Time at which the device completed, failed or rejected it. */
  readonly completedAt: Millis | undefined
  readonly cancelledAt: Millis | undefined
  readonly cancelledBy: string | undefined
  readonly notice: Notice | undefined
  /** Percent. */
  readonly progress: number | undefined
  /** True if the result arrived after the command had expired. */
  readonly late: boolean
  readonly conflicts: readonly Conflict[]
  readonly broadcastId: BroadcastId | undefined
  readonly idempotencyKey: string | undefined
}

/** The commands of one device, oldest first: the open ones, and the newest finished ones. */
export type Commands = readonly Command[]

export const NO_COMMANDS: Commands = Object.freeze([])

/** A change of a device's commands. `changed` holds the new and the moved ones, each to be announced and written to the
 *  history. If nothing changed, `commands` is the same reference. */
export interface CommandsChange {
  readonly commands: Commands
  readonly changed: readonly Command[]
}

/** Puts the changed commands in their places. */
export function replace(commands: Commands, changed: readonly Command[]): CommandsChange {
  if (changed.length === 0) return { commands, changed }
  const byId = new Map(changed.map((command) => [command.id, command]))
  return { commands: commands.map((command) => byId.get(command.id) ?? command), changed }
}
