// Commands for lists, from a device's record or from the history.
//
// A record keeps the open commands and the newest finished ones, and is authoritative for them. The history has all
// commands, with a short delay. A command in the record is shown as it is there, and every other command has ended.
import { byCreation, type KeptCommand, placeOf } from '../../engine/domain/command/kept-commands.ts'
import { isOpen } from '../../engine/domain/command/moves.ts'
import type { Command } from '../../engine/domain/command/record.ts'
import { LIMITS } from '../../engine/limits.ts'
import { Fault } from '../../engine/ports/fault.ts'
import type { CommandPlace, HistoryRow, PastCommand } from '../../engine/ports/history.ts'
import type { CommandBody } from '../../schemas/command.ts'
import type { DeviceId } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { commandBody, type HoldingDevice } from '../bodies/command-body.ts'
import type { Services } from '../http/services.ts'
import { isMember, type Statuses } from './command-checks.ts'
import { pastCommandBody } from './past-command.ts'

type Engine = Services['engine']
export type ListedCommand =
  | { readonly place: CommandPlace; readonly kept: KeptCommand }
  | { readonly place: CommandPlace; readonly past: PastCommand }

export const keyOf = ({ deviceId, commandId }: { readonly deviceId: string; readonly commandId: string }) =>
  `${deviceId} ${commandId}`

/** All matching commands of a device, newest first. `kept` are those in its record. */
export async function commandsOf(
  engine: Pick<Engine, 'pastCommands'>,
  deviceId: DeviceId,
  { kept, wanted }: { readonly kept: readonly Command[]; readonly wanted: Statuses },
): Promise<readonly ListedCommand[]> {
  const fitting = kept
    .filter(({ status }) => isMember(wanted, status))
    .map((command) => ({ deviceId, command }))
    .map((each) => ({ place: placeOf(each), kept: each }))
  const known = new Set(kept.map(({ id }) => id))
  const past = hasLeft(kept) ? await pastOf(engine, deviceId, wanted) : []
  const older = past.filter(({ commandId }) => !known.has(commandId))
  // [contract 2.4] Ids order commands of the same moment, so that none of them moves when it leaves the record.
  return [...fitting, ...older.map((each) => ({ place: each, past: each }))].sort((a, b) =>
    byCreation(a.place, b.place),
  )
}

/** A record drops finished commands only when others take their place. */
function hasLeft(kept: readonly Command[]): boolean {
  return kept.filter(({ status }) => !isOpen(status)).length >= LIMITS.commandsKeptMax
}

/** If the history cannot be read, the commands in the record are still listed. */
async function pastOf(
  engine: Pick<Engine, 'pastCommands'>,
  deviceId: DeviceId,
  { statuses }: Statuses,
): Promise<readonly PastCommand[]> {
  const wanted = statuses === undefined ? undefined : [...statuses]
  // Records keep every open command.
  if (wanted?.every(isOpen) === true) return []
  const query = { deviceIds: [deviceId], statuses: wanted, limit: LIMITS.commandsListedMax }
  try {
    return await engine.pastCommands(query)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return []
  }
}

export async function toBodies(
  engine: Pick<Engine, 'commandSteps'>,
  rows: readonly ListedCommand[],
  deviceOf: (deviceId: DeviceId) => HoldingDevice | undefined,
): Promise<readonly CommandBody[]> {
  const past = rows.flatMap((row) => ('past' in row ? [row.past] : []))
  const steps = byCommand(await engine.commandSteps(past))
  return rows.map((row) => {
    const { deviceId } = row.place
    if ('kept' in row) return commandBody(deviceId, row.kept.command, deviceOf(deviceId))
    return pastCommandBody(deviceId, steps.get(keyOf(row.place)) ?? [])
  })
}

/** The steps of each command, oldest first. */
function byCommand(rows: readonly HistoryRow[]): ReadonlyMap<string, readonly JsonObject[]> {
  const steps = new Map<string, JsonObject[]>()
  for (const { deviceId, body } of rows.toReversed()) {
    const key = keyOf({ deviceId, commandId: String(body['command_id']) })
    const own = steps.get(key)
    if (own === undefined) steps.set(key, [body])
    else own.push(body)
  }
  return steps
}
