// Checks what must be true of shadows, commands and broadcasts when all faults have ended.
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../schemas/json.ts'
import type { CommandStatus } from '../../schemas/vocabulary.ts'
import { COMMAND_MOVES, isOpen } from '../domain/command/moves.ts'
import { shadowDelta } from '../domain/shadow/delta.ts'
import { merge } from '../domain/shadow/merge.ts'
import { NEW_SHADOW } from '../domain/shadow/record.ts'
import type { BaseWorld } from './base-world.ts'
import type { SimulatedDevice } from './simulated-device.ts'

/** A command ends with at most one of these. */
const RESULTS: readonly CommandStatus[] = ['completed', 'failed', 'rejected', 'cancelled']

type Ask = <T>(question: Promise<T> | undefined) => Promise<T | undefined>

export async function checkControl(world: BaseWorld, device: SimulatedDevice, ask: Ask): Promise<void> {
  await checkShadow(world, device, ask)
  await checkCommands(world, device, ask)
}

/** The shadow in memory must equal the saved one and follow from its history, and the device must know the delta. */
async function checkShadow(world: BaseWorld, device: SimulatedDevice, ask: Ask): Promise<void> {
  const { id, control } = device
  const shadow = await ask(world.process?.engine.shadow(id))
  const saved = world.ledger.shadowOf(id) ?? NEW_SHADOW
  if (!isDeepStrictEqual(shadow, saved)) world.violate(`${id} has a shadow that differs from the saved one`)
  const made: Record<string, JsonObject> = { desired: {}, reported: {} }
  let version = 0
  const rows = historyOf(world, device, 'shadow')
  for (const { body } of rows) {
    const section = String(body['section'])
    // `shadowRow` wrote the body.
    made[section] = merge(made[section] ?? {}, body['patch'] as JsonObject)
    if (body['version'] !== ++version)
      world.violate(`${id} has shadow ${body['version']} after ${version - 1}`)
  }
  const { desired, reported } = saved
  if (version !== saved.version || !isDeepStrictEqual(made, { desired, reported }))
    world.violate(`${id} has shadow ${saved.version}, but its history leads to ${version}`)
  const { desiredAccepted } = world.pledges.of(device)
  // Calls to several nodes at the same time may be carried out in any order, but none may be lost.
  const wasMade = (key: string, value: number) =>
    world.reorderedMsMax > 0 && rows.some(({ body }) => (body['patch'] as JsonObject)[key] === value)
  if (Number(desired['w'] ?? 0) < desiredAccepted && !wasMade('w', desiredAccepted))
    world.violate(`${id} lost the desired value ${desiredAccepted} and has ${desired['w']}`)
  const mayBeGone = device.mayBeGoneFrom < Number.POSITIVE_INFINITY
  if (Number(reported['r'] ?? 0) < control.reported && !mayBeGone && !wasMade('r', control.reported))
    world.violate(`${id} lost the reported value ${control.reported} and has ${reported['r']}`)
  const delta = shadowDelta(saved).state
  if (device.isConnected() && !mayBeGone && !isDeepStrictEqual(control.desired?.state ?? {}, delta))
    world.violate(`${id} knows ${JSON.stringify(control.desired)}, but the delta is ${JSON.stringify(delta)}`)
}

/** The commands in memory must equal the saved ones and have ended, and each must agree with its steps and answers. */
async function checkCommands(world: BaseWorld, device: SimulatedDevice, ask: Ask): Promise<void> {
  const { id } = device
  const commands = (await ask(world.process?.engine.commands(id))) ?? []
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
  if (!isDeepStrictEqual([...commands].sort(byId), [...world.ledger.commandsOf(id)].sort(byId)))
    world.violate(`${id} has commands that differ from the saved ones`)
  for (const command of commands)
    if (isOpen(command.status)) world.violate(`${id} command ${command.id} is still ${command.status}`)
  const ends = new Map<string, CommandStatus>()
  const results = new Map<string, CommandStatus>()
  const broadcasts = new Set<unknown>()
  for (const { body } of historyOf(world, device, 'command')) {
    const commandId = String(body['command_id'])
    // `commandRow` wrote the body.
    const status = body['status'] as CommandStatus
    const from = ends.get(commandId)
    // After the store was put back, a sweep may expire a command at another time, although an answer had ended it.
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
  world: BaseWorld,
  device: SimulatedDevice,
  ends: ReadonlyMap<string, CommandStatus>,
): void {
  const { id, control } = device
  const { commands, cancelled } = world.pledges.of(device)
  for (const commandId of commands)
    if (!ends.has(commandId)) world.violate(`${id} command ${commandId} was promised and is lost`)
  for (const commandId of cancelled)
    if (ends.get(commandId) !== 'cancelled')
      world.violate(`${id} command ${commandId} was cancelled but is ${ends.get(commandId)}`)
  for (const commandId of control.received)
    if (!ends.has(commandId)) world.violate(`${id} got ${commandId}, which has no history`)
  const mayBeGone = device.mayBeGoneFrom < Number.POSITIVE_INFINITY
  for (const [commandId, said] of control.answers) {
    const end = ends.get(commandId)
    const isAcked = [...said.values()].includes(true)
    const isAnswered = end === 'cancelled' || (end !== undefined && said.has(end))
    // A late rejection does not count. Any other late answer counts only while the record keeps the command.
    const isLate = end === 'expired' && !control.inTime.has(commandId)
    if (isAcked && !isAnswered && !isLate && !mayBeGone)
      world.violate(`${id} answered ${commandId} with ${[...said.keys()].join()}, but it is ${end}`)
  }
}

/** No command of an accepted broadcast may still be open. */
export async function checkBroadcasts(world: BaseWorld, ask: Ask): Promise<void> {
  for (const id of world.pledges.broadcasts) {
    const state = await ask(world.process?.engine.broadcastState(id, { offset: 0, limit: 100 }))
    if (state === undefined) {
      world.violate(`broadcast ${id} was promised and is lost`)
      continue
    }
    const { pending, delivered, acked } = state.counts
    if (pending + delivered + acked > 0) world.violate(`broadcast ${id} is not over: ${pending} are pending`)
    const seen = Object.values(state.counts).reduce((sum, count) => sum + count, 0)
    if (seen > state.broadcast.accepted)
      world.violate(`broadcast ${id} has ${seen} commands, ${state.broadcast.accepted} were accepted`)
  }
}

function isMove(from: CommandStatus, to: CommandStatus): boolean {
  return Object.values(COMMAND_MOVES[from]).includes(to)
}

/** Returns rows in the order in which they were saved. The order of their times may differ: sweeps take the current time,
 *  clocks are set, and the clocks of nodes differ. */
function historyOf(world: BaseWorld, { id }: SimulatedDevice, kind: 'shadow' | 'command') {
  return (
    world.ledger
      .historyOf(id)
      .filter((row) => row.kind === kind)
      // `writtenRow` wrote the body.
      .map(({ body }) => ({ body: JSON.parse(body) as JsonObject }))
  )
}
