// The commands that the records of devices still hold: the open ones and the newest finished ones. Newest first: by
// creation, then id, then device.
import type { CommandId, DeviceId, Millis } from '../../../schemas/ids.ts'
import type { CommandStatus } from '../../../schemas/vocabulary.ts'
import type { Command } from './record.ts'

/** A command's position among the commands of all devices. */
export interface CommandPlace {
  readonly createdAt: Millis
  readonly commandId: CommandId
  readonly deviceId: DeviceId
}

export interface CommandFilter {
  /** The command's name. */
  readonly name?: string | undefined
  readonly createdBy?: string | undefined
  readonly broadcastId?: string | undefined
  readonly statuses?: readonly CommandStatus[] | undefined
  /** Time of creation, [from, to). */
  readonly from?: Millis | undefined
  readonly to?: Millis | undefined
  /** Only commands older than this one. */
  readonly before?: CommandPlace | undefined
  readonly limit: number
}

export interface KeptCommand {
  readonly deviceId: DeviceId
  readonly command: Command
}

export function commandFits(
  { name, createdBy, broadcastId, statuses, from, to, before }: CommandFilter,
  deviceId: DeviceId,
  command: Command,
): boolean {
  return (
    (statuses?.includes(command.status) ?? true) &&
    (name === undefined || name === command.name) &&
    (createdBy === undefined || createdBy === command.createdBy) &&
    (broadcastId === undefined || broadcastId === command.broadcastId) &&
    (from === undefined || command.createdAt >= from) &&
    (to === undefined || command.createdAt < to) &&
    (before === undefined || byCreation(before, placeOf({ deviceId, command })) < 0)
  )
}

export function placeOf({ deviceId, command }: KeptCommand): CommandPlace {
  return { createdAt: command.createdAt, commandId: command.id, deviceId }
}

/** Compares newest first. */
export function byCreation(a: CommandPlace, b: CommandPlace): number {
  if (a.createdAt !== b.createdAt) return b.createdAt - a.createdAt
  if (a.commandId !== b.commandId) return a.commandId < b.commandId ? 1 : -1
  return a.deviceId === b.deviceId ? 0 : a.deviceId < b.deviceId ? 1 : -1
}

/** At most `limit` of the commands, newest first. */
export function newestOf(commands: readonly KeptCommand[], limit: number): readonly KeptCommand[] {
  return commands
    .map((each) => ({ each, place: placeOf(each) }))
    .sort((a, b) => byCreation(a.place, b.place))
    .slice(0, limit)
    .map(({ each }) => each)
}
