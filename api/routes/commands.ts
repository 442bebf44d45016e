// /commands/{device_id}: requests to one device. Users who may not send commands may not see them either.
import { isOpen } from '../../engine/domain/command/moves.ts'
import type { Command } from '../../engine/domain/command/record.ts'
import { isUpdating } from '../../engine/domain/ota/firmware-jobs.ts'
import type { Engine } from '../../engine/index.ts'
import type { FirmwareView } from '../../engine/ports/device-view.ts'
import type { DeviceSummary } from '../../engine/ports/store.ts'
import type { CommandBody, CommandRequestBody } from '../../schemas/command.ts'
import { CommandId, type DeviceId } from '../../schemas/ids.ts'
import { API } from '../../schemas/operation.ts'
import { cancelCommand, getCommand, listCommands, sendCommand } from '../../schemas/operations/commands.ts'
import type { Caller } from '../auth/caller.ts'
import { deviceNotFound, visibleDeviceId } from '../auth/visible-device.ts'
import { commandBody, type HoldingDevice } from '../bodies/command-body.ts'
import { type Answer, answer } from '../http/answer.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { REPLAYED, type RepeatKey } from '../http/repeats.ts'
import { type Route, route, type SignedCall } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { readWait } from '../http/wait.ts'
import { type Refusal, refused } from '../refusal.ts'
import { broadcastRoutes } from './broadcasts.ts'
import { parseStatuses, refuseCommand } from './command-checks.ts'
import { commandsOf, toBodies } from './command-list.ts'
import { fleetCommandRoute } from './fleet-commands.ts'
import { findPastCommand } from './past-command.ts'

const COMMAND_ID = /^[A-Za-z0-9_-]{1,64}$/

export function commandRoutes(services: Services): readonly Route[] {
  return [
    ...broadcastRoutes(services),
    fleetCommandRoute(services),
    ...collectionRoutes(services),
    ...oneRoutes(services),
  ]
}

function collectionRoutes(services: Services): readonly Route[] {
  const { engine } = services
  return [
    route(sendCommand, ({ params, query, ...call }) =>
      send(services, { ...call, text: params.device_id, waitSec: query.wait }),
    ),
    route(listCommands, async ({ params, query, user, url }) => {
      const wanted = parseStatuses(query.status)
      if (wanted.kind === 'refused') return wanted
      const device = summaryOf(services, params.device_id, user)
      const commands = device === undefined ? undefined : await engine.commands(device.id)
      if (device === undefined || commands === undefined) return deviceNotFound()
      const found = await commandsOf(engine, device.id, { kept: commands, wanted })
      const ordered = isOldestFirst(query.sort) ? found.toReversed() : found
      const window = toWindow(query)
      const shown = ordered.slice(window.offset, window.offset + window.perPage)
      const kept = shown.flatMap((each) => ('kept' in each ? [each.kept.command] : []))
      const holding = await holdingOf(engine, device, kept)
      const bodies = await toBodies(engine, shown, () => holding)
      return pageAnswer(bodies, found.length, window, url)
    }),
  ]
}

function oneRoutes(services: Services): readonly Route[] {
  const { engine } = services
  return [
    route(getCommand, async ({ params, query, user, header }) => {
      const device = summaryOf(services, params.device_id, user)
      if (device === undefined) return deviceNotFound()
      const id = parseCommandId(params.cmd_id)
      const wait = readWait(query.wait, header('prefer'))
      const command =
        id === undefined ? undefined : await engine.awaitCommand(device.id, id, wait.seconds * 1000)
      if (command !== undefined)
        return answer(
          200,
          commandBody(device.id, command, await holdingOf(engine, device, [command])),
          wait.headers,
        )
      const past = id === undefined ? undefined : await findPastCommand(engine, device.id, id)
      return past === undefined ? commandNotFound() : answer(200, past)
    }),
    route(cancelCommand, async ({ params, user, sign }) => {
      const device = summaryOf(services, params.device_id, user)
      if (device === undefined) return deviceNotFound()
      const id = parseCommandId(params.cmd_id)
      if (id === undefined) return commandNotFound()
      const submitted = await engine.submit(device.id, { kind: 'cancel', id }, sign())
      if (submitted.kind === 'refused') return submitted
      const { command } = submitted
      return command === undefined ? commandNotFound() : answer(200, commandBody(device.id, command, device))
    }),
  ]
}

/** A field without a direction sorts in ascending order, as in every list. */
function isOldestFirst(sort = 'created_at:DESC'): boolean {
  return !sort.toUpperCase().endsWith(':DESC')
}

/** Asks for the device's firmware only if a command is waiting. */
async function holdingOf(
  engine: Pick<Engine, 'firmwareOf'>,
  device: DeviceSummary,
  commands: readonly Command[],
): Promise<HoldingDevice> {
  if (commands.every(({ status }) => status !== 'pending')) return device
  const state = await engine.firmwareOf(device.id)
  return { status: device.status, isUpdating: state !== undefined && isUpdating(state.firmware) }
}

interface SendCall extends SignedCall {
  readonly text: string
  readonly body: CommandRequestBody
  readonly waitSec: number | undefined
  readonly repeatKey: RepeatKey | undefined
  header(name: string): string | undefined
}

async function send(services: Services, call: SendCall): Promise<Answer | Refusal> {
  const { engine, ids, deviceTypes, repeats } = services
  const { body, user, repeatKey } = call
  const device = summaryOf(services, call.text, user)
  if (device === undefined) return deviceNotFound()
  const refusal = refuseCommand(body, deviceTypes.defined.get(device.type))
  if (refusal !== undefined) return refusal
  const recalled = repeatKey && (await repeats.recall(repeatKey))
  // An emergency stop is sent even if its answer cannot be stored. The device's record recognises a repeat for a while.
  const hasRoom = !(recalled?.kind === 'refused' && recalled.code === 'RATE_LIMIT_EXCEEDED')
  if (recalled?.kind === 'refused' && (hasRoom || body.priority !== 'critical')) return recalled
  if (recalled?.kind === 'repeat') return await repeatedAnswer(engine, { ...call, device }, recalled.answer)
  const id = CommandId(ids.next('cmd_'))
  const requested = {
    name: body.command,
    data: body.data ?? undefined,
    priority: body.priority,
    timeoutSec: body.timeout_sec,
    idempotencyKey: repeatKey?.id,
  }
  const submitted = await engine.submit(
    device.id,
    { kind: 'command', id, wish: requested },
    call.sign({ target: `commands/${device.id}/${id}` }),
  )
  if (submitted.kind === 'refused') return withoutKey(submitted)
  const { command, view } = submitted
  if (command === undefined) return commandNotFound()
  const holding = { id: device.id, status: view.device.status, isUpdating: isInstalling(view.firmware) }
  // The device's record holds only the latest keys. The key is stored before the wait, so that a caller who gives up may
  // repeat the request.
  if (repeatKey !== undefined && hasRoom)
    await repeats.store(repeatKey, sentAnswer(holding, command, undefined))
  const wait = readWait(call.waitSec, call.header('prefer'))
  const later =
    wait.seconds === 0 ? command : await engine.awaitCommand(device.id, command.id, wait.seconds * 1000)
  return sentAnswer(holding, later ?? command, { ...wait.headers, ...(command.id === id ? {} : REPLAYED) })
}

/** Answers with the current state of the command. */
async function repeatedAnswer(
  engine: Engine,
  { device, waitSec, header }: SendCall & { readonly device: DeviceSummary },
  first: Answer,
): Promise<Answer> {
  // The body was stored by `send`.
  const id = CommandId((first.body as CommandBody).command_id)
  const wait = readWait(waitSec, header('prefer'))
  const command = await engine.awaitCommand(device.id, id, wait.seconds * 1000)
  if (command !== undefined) {
    const holding = { id: device.id, ...(await holdingOf(engine, device, [command])) }
    return sentAnswer(holding, command, { ...wait.headers, ...REPLAYED })
  }
  const past = await findPastCommand(engine, device.id, id)
  const { headers } = first
  return past === undefined
    ? { ...first, headers: { ...headers, ...REPLAYED } }
    : answer(200, past, { ...headers, ...REPLAYED })
}

/** Needs no further question to the device's actor, whose answer includes the progress of its update. */
function isInstalling(firmware: FirmwareView | undefined): boolean {
  const status = firmware?.update?.status
  return status === 'installing' || status === 'rebooting'
}

function sentAnswer(
  device: HoldingDevice & { readonly id: DeviceId },
  command: Command,
  headers: Answer['headers'],
): Answer {
  const location = `${API}/commands/${device.id}/${command.id}`
  const body = commandBody(device.id, command, device)
  return answer(isOpen(command.status) ? 202 : 200, body, { location, ...headers })
}

/** The stored key begins with the user's id. */
function withoutKey(refusal: Refusal): Refusal {
  if (refusal.code !== 'IDEMPOTENCY_KEY_REUSED') return refusal
  return refused(refusal.code, { message: 'this Idempotency-Key came with another command before' })
}

function summaryOf({ engine }: Services, text: string, user: Caller): DeviceSummary | undefined {
  const id = visibleDeviceId(engine, text, user)
  return id === undefined ? undefined : engine.devices.summary(id)
}

function parseCommandId(text: string): CommandId | undefined {
  return COMMAND_ID.test(text) ? CommandId(text) : undefined
}

const commandNotFound = () => refused('NOT_FOUND', { message: 'no such command' })
