// What must be true of shadows, commands and broadcasts at rest.
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../schemas/json.ts'
import type { CommandStatus } from '../../schemas/vocabulary.ts'
import { COMMAND_MOVES, isOpen } from '../domain/command/moves.ts'
import { shadowDelta } from '../domain/shadow/delta.ts'
import { merge } from '../domain/shadow/merge.ts'
import { NEW_SHADOW } from '../domain/shadow/record.ts'
import type { Place } from './place.ts'
import type { SimulatedDevice } from './simulated-device.ts'

/** A command ends with at most one of these. */
const RESULTS: readonly CommandStatus[] = ['completed', 'failed', 'rejected', 'cancelled']

type Ask = <T>(question: Promise<T> | undefined) => Promise<T | undefined>

export async function checkControl(world: Place, device: SimulatedDevice, ask: Ask): Promise<void> {
  await checkShadow(world, device, ask)
  await checkCommands(world, device, ask)
}

/** The live shadow is the saved one, its history leads to it, and the device knows its delta. */
async function checkShadow(world: Place, device: SimulatedDevice, ask: Ask): Promise<void> {
  const { id, control } = device
  const shadow = await ask(world.process?.engine.shadow(id))
  const saved = world.ledger.shadowOf(id) ?? NEW_SHADOW
  if (!isDeepStrictEqual(shadow, saved)) world.violate(`${id} has a shadow other than it is saved`)
  const made: Record<string, JsonObject> = { desired: {}, reported: {} }
  let version = 0
  const rows = historyOf(world, device, 'shadow')
  for (const { body } of rows) {
    const section = String(body['section'])
    // shadowRow wrote the body.
    made[section] = merge(made[section] ?? {}, body['patch'] as JsonObject)
    if (body['version'] !== ++version)
      world.violate(`${id} has shadow ${body['version']} after ${version - 1}`)
  }
  const { desired, reported } = saved
  if (version !== saved.version || !isDeepStrictEqual(made, { desired, reported }))
    world.violate(`${id} has shadow ${saved.version}, its history makes ${version}`)
  const { wish } = world.pledges.of(device)
  // Of calls at several nodes at once, the later one may be done first. None is lost.
  const wasMade = (key: string, value: number) =>
    world.reorderedMsMax > 0 && rows.some(({ body }) => (body['patch'] as JsonObject)[key] === value)
  if (Number(desired['w'] ?? 0) < wish && !wasMade('w', wish))
    world.violate(`${id} lost wish ${wish}: ${desired['w']}`)
  const mayBeGone = device.mayBeGoneFrom < Number.POSITIVE_INFINITY
  if (Number(reported['r'] ?? 0) < control.reported && !mayBeGone && !wasMade('r', control.reported))
    world.violate(`${id} lost report ${control.reported}: ${reported['r']}`)
  const delta = shadowDelta(saved).state
  if (device.isConnected() && !mayBeGone && !isDeepStrictEqual(control.desired?.state ?? {}, delta))
    world.violate(`${id} knows ${JSON.stringify(control.desired)}, desired is ${JSON.stringify(delta)}`)
}

/** The live commands are the saved ones, all of them have ended, and each agrees with its steps and answers. */
async function checkCommands(world: Place, device: SimulatedDevice, ask: Ask): Promise<void> {
  const { id } = device
  const commands = (await ask(world.process?.engine.commands(id))) ?? []
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
  if (!isDeepStrictEqual([...commands].sort(byId), [...world.ledger.commandsOf(id)].sort(byId)))
    world.violate(`${id} has commands other than they are saved`)
  for (const command of commands)
    if (isOpen(command.status)) world.violate(`${id} command ${command.id} is still ${command.status}`)
  const ends = new Map<string, CommandStatus>()
  const results = new Map<string, CommandStatus>()
  const broadcasts = new Set<unknown>()
  for (const { body } of historyOf(world, device, 'command')) {
    const commandId = String(body['command_id'])
    // commandRow wrote the body.
    const status = body['status'] as CommandStatus
    const from = ends.get(commandId)
    // A store that was put back lets a sweep expire again, at another time, what an answer ended already.
    if (world.wasSetBack && status === 'expired' && from !== undefined && !isOpen(from)) continue
    const isWrong = from === undefined ? status !== 'pending' : from !== status && !isMove(from, status)
    if (isWrong) world.violate(`${id} command ${commandId} goes from ${from} to ${status}`)
    const result = results.get(commandId)
    if (result !== undefined && RESULTS.includes(status) && status !== result)
      world.violate(`${id} command ${commandId} is both ${result} and ${status}`)
    if (RESULTS.includes(status)) results.set(commandId, status)
    const broadcast = body['broadcast_id']
    if (from === undefined && broadcast !== null && broadcasts.has(broadcast))
      world.violate(`${id} got broadcast ${broadcast} twice`)
    broadcasts.add(broadcast)
    ends.set(commandId, status)
  }
  checkPromises(world, device, ends)
}

function checkPromises(
  world: Place,
  device: SimulatedDevice,
  ends: ReadonlyMap<string, CommandStatus>,
): void {
  const { id, control } = device
  const { commands, cancelled } = world.pledges.of(device)
  for (const commandId of commands)
    if (!ends.has(commandId)) world.violate(`${id} command ${commandId} was promised and is lost`)
  for (const commandId of cancelled)
    if (ends.get(commandId) !== 'cancelled')
      world.violate(`${id} command ${commandId} was cancelled and is ${ends.get(commandId)}`)
  for (const commandId of control.received)
    if (!ends.has(commandId)) world.violate(`${id} got ${commandId}, of which nothing is known`)
  const mayBeGone = device.mayBeGoneFrom < Number.POSITIVE_INFINITY
  for (const [commandId, said] of control.answers) {
    const end = ends.get(commandId)
    const isAcked = [...said.values()].includes(true)
    const isAnswered = end === 'cancelled' || (end !== undefined && said.has(end))
    // Late rejections do not count, and a late answer counts only while the command is kept.
    const isLate = end === 'expired' && !control.inTime.has(commandId)
    if (isAcked && !isAnswered && !isLate && !mayBeGone)
      world.violate(`${id} answered ${commandId} ${[...said.keys()].join()}, it is ${end}`)
  }
}

/** A broadcast that was accepted reaches every member of the group, or its command ends otherwise. */
export async function checkBroadcasts(world: Place, ask: Ask): Promise<void> {
  for (const id of world.pledges.broadcasts) {
    const state = await ask(world.process?.engine.broadcastState(id, { offset: 0, limit: 100 }))
    if (state === undefined) {
      world.violate(`broadcast ${id} was promised and is lost`)
      continue
    }
    const { pending, delivered, acked } = state.counts
    if (pending + delivered + acked > 0) world.violate(`broadcast ${id} is not over: ${pending} wait`)
    const seen = Object.values(state.counts).reduce((sum, count) => sum + count, 0)
    if (seen > state.broadcast.accepted)
      world.violate(`broadcast ${id} has ${seen} commands, ${state.broadcast.accepted} were accepted`)
  }
}

function isMove(from: CommandStatus, to: CommandStatus): boolean {
  return Object.values(COMMAND_MOVES[from]).includes(to)
}

/** The rows are in the order in which they were saved. Times may be in another one: those of a sweep are in no log, and
 *  clocks are set, and differ from node to node. */
function historyOf(world: Place, { id }: SimulatedDevice, kind: 'shadow' | 'command') {
  return (
    world.ledger
      .historyOf(id)
      .filter((row) => row.kind === kind)
      // writtenRow wrote the body.
      .map(({ body }) => ({ body: JSON.parse(body) as JsonObject }))
  )
}
