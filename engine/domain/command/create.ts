// Creating a command: its limits, its deadline, and recognising a repeated request.
import { type BroadcastId, type CommandId, Millis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Refusal } from '../../../schemas/refusals.ts'
import type { CommandPriority } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import { isEqual } from '../shadow/json-object.ts'
import { dataBytesOf, dataTooLarge } from './data-bound.ts'
import { isOpen } from './moves.ts'
import { type Command, type Commands, type CommandsChange, NOT_SENT } from './record.ts'

/** The fields of a REST request, validated by its schema. */
export interface CommandRequest {
  readonly name: string
  readonly data?: JsonObject | undefined
  readonly priority?: CommandPriority | undefined
  readonly timeoutSec?: number | undefined
  readonly notBefore?: Millis | undefined
  readonly broadcastId?: BroadcastId | undefined
  readonly idempotencyKey?: string | undefined
}

export type CommandRefusal = Refusal<
  | 'COMMAND_QUEUE_FULL'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'INVALID_STATE_TRANSITION'
  | 'NOT_FOUND'
  | 'PAYLOAD_TOO_LARGE'
  | 'VALIDATION_FAILED'
>

export type CreateOutcome =
  | ({ readonly kind: 'created'; readonly command: Command } & CommandsChange)
  /** The same request was made before. `command` is its command as it is now. */
  | { readonly kind: 'repeated'; readonly command: Command }
  | CommandRefusal

export interface Creation {
  readonly id: CommandId
  readonly by: string
  readonly now: Millis
}

export function createCommand(
  commands: Commands,
  request: CommandRequest,
  creation: Creation,
): CreateOutcome {
  const earlier = findEarlier(commands, request, creation)
  if (earlier !== undefined)
    return isSameRequest(earlier, request) ? { kind: 'repeated', command: earlier } : refuseReusedKey(request)
  if (request.name.startsWith('$'))
    return refuse('VALIDATION_FAILED', {
      message: 'names that begin with $ are the service’s own',
      errors: [{ path: '/command', code: 'NOT_ALLOWED', message: 'begins with $' }],
    })
  const command = toCommand(request, creation)
  const tooLarge = dataTooLarge(command.dataBytes)
  if (tooLarge !== undefined) return refuse('PAYLOAD_TOO_LARGE', tooLarge)
  const open = commands.filter(({ status }) => isOpen(status))
  const bytes = open.reduce((sum, { dataBytes }) => sum + dataBytes, command.dataBytes)
  if (open.length >= LIMITS.commandsOpenMax || bytes > LIMITS.commandsOpenBytesMax)
    return refuse('COMMAND_QUEUE_FULL', {
      message: `${open.length} commands of ${bytes - command.dataBytes} bytes are not finished yet`,
      limit: LIMITS.commandsOpenMax,
      actual: open.length,
    })
  return { kind: 'created', command, commands: [...commands, command], changed: [command] }
}

function toCommand(request: CommandRequest, { id, by, now }: Creation): Command {
  const { name, data = {}, notBefore, broadcastId, idempotencyKey } = request
  const priority = priorityOf(request)
  const timeoutSec = timeoutOf(request)
  return {
    id,
    name,
    data,
    dataBytes: dataBytesOf(data),
    status: 'pending',
    priority,
    timeoutSec,
    createdAt: now,
    createdBy: by,
    notBefore,
    expiresAt: Millis((notBefore ?? now) + timeoutSec * 1_000),
    delivery: NOT_SENT,
    deliveredAt: undefined,
    ackedAt: undefined,
    completedAt: undefined,
    executedAt: undefined,
    cancelledAt: undefined,
    cancelledBy: undefined,
    notice: undefined,
    progress: undefined,
    result: undefined,
    resultBytesOmitted: undefined,
    error: undefined,
    late: false,
    conflicts: [],
    broadcastId,
    idempotencyKey,
  }
}

function priorityOf({ priority = 'normal' }: CommandRequest): CommandPriority {
  return priority
}

function timeoutOf(request: CommandRequest): number {
  const isCritical = priorityOf(request) === 'critical'
  return (
    request.timeoutSec ?? (isCritical ? LIMITS.commandTimeoutSecCritical : LIMITS.commandTimeoutSecDefault)
  )
}

/** Also finds the command of a broadcast that is distributed again after a crash. */
function findEarlier(commands: Commands, request: CommandRequest, { now }: Creation): Command | undefined {
  const { idempotencyKey: key, broadcastId } = request
  if (broadcastId !== undefined) return commands.find((command) => command.broadcastId === broadcastId)
  if (key === undefined) return undefined
  return commands.findLast(
    ({ idempotencyKey, createdAt }) => idempotencyKey === key && createdAt + LIMITS.idempotencyKeyMs > now,
  )
}

function isSameRequest(earlier: Command, request: CommandRequest): boolean {
  return (
    earlier.name === request.name &&
    earlier.priority === priorityOf(request) &&
    earlier.timeoutSec === timeoutOf(request) &&
    isEqual(earlier.data, request.data ?? {})
  )
}

function refuseReusedKey({ idempotencyKey }: CommandRequest): CommandRefusal {
  return refuse('IDEMPOTENCY_KEY_REUSED', {
    message: `the key ${JSON.stringify(idempotencyKey)} came with another command before`,
  })
}

function refuse(code: CommandRefusal['code'], detail: CommandRefusal['detail']): CommandRefusal {
  return { kind: 'refused', code, detail }
}
