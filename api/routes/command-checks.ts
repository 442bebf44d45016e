// Checks of commands that a schema cannot express, and the status filter of lists.
import { dataBytesOf, dataTooLarge } from '../../engine/domain/command/data-bound.ts'
import type { DeviceType } from '../../engine/domain/device-type/definition.ts'
import { validateCommand } from '../../engine/domain/device-type/validate-command.ts'
import { checkState } from '../../engine/domain/shadow/state-check.ts'
import type { BroadcastRequest } from '../../engine/ports/engine.ts'
import type { CommandRequestBody } from '../../schemas/command.ts'
import type { FieldError } from '../../schemas/problem.ts'
import { COMMAND_STATUSES, type CommandStatus } from '../../schemas/vocabulary.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'

type RequestedCommand = Pick<CommandRequestBody, 'command' | 'data'>

/** `type` is undefined for devices that accept any command. */
export function refuseCommand(
  requested: RequestedCommand,
  type: DeviceType | undefined,
): Refusal | undefined {
  const data = requested.data ?? {}
  const tooLarge = dataTooLarge(dataBytesOf(data))
  // Checked here, too, because a shard would have to unpack all of it first.
  if (tooLarge !== undefined) return refused('PAYLOAD_TOO_LARGE', tooLarge)
  const mistakes = checkState(data).map((error) => ({ ...error, path: `/data${error.path}` }))
  const errors = mistakes.length > 0 ? mistakes : mismatches(requested, type)
  const [first] = errors
  if (first === undefined) return undefined
  const code = first.code === 'UNKNOWN_COMMAND' ? 'UNKNOWN_COMMAND' : 'VALIDATION_FAILED'
  return refused(code, { message: `${first.path}: ${first.message}`, errors: errors.map(inBody) })
}

/** The types whose devices a broadcast skips, with the reason. */
export function incompatibleTypes(
  requested: RequestedCommand,
  types: Iterable<DeviceType>,
): NonNullable<BroadcastRequest['unfit']> {
  const reasons = Array.from(types, (type) => {
    const [first] = mismatches(requested, type)
    if (first === undefined) return []
    const reason = first.code === 'UNKNOWN_COMMAND' ? 'unknown_command' : 'invalid_parameters'
    return [[type.name, reason] as const]
  })
  return Object.fromEntries(reasons.flat())
}

function mismatches(
  { command, data }: RequestedCommand,
  type: DeviceType | undefined,
): readonly FieldError[] {
  return type === undefined ? [] : validateCommand(type, command, data ?? {})
}

const inBody = (error: FieldError): FieldError => ({ ...error, in: 'body' })

/** Undefined means all statuses. */
export interface Statuses {
  readonly kind: 'statuses'
  readonly statuses: ReadonlySet<CommandStatus> | undefined
}

/** [contract 1.3] `acked` means acknowledged, so it includes completed commands. */
export function parseStatuses(texts: readonly string[] | undefined): Statuses | Refusal {
  if (texts === undefined) return { kind: 'statuses', statuses: undefined }
  const statuses = new Set<CommandStatus>()
  for (const word of texts.flatMap((text) => text.split(','))) {
    const status = COMMAND_STATUSES.find((known) => known === word.trim())
    if (status === undefined)
      return invalid('/status', {
        code: 'NOT_ALLOWED',
        message: `must be some of ${COMMAND_STATUSES.join(', ')}`,
        in: 'query',
      })
    statuses.add(status)
    if (status === 'acked') statuses.add('completed')
  }
  return { kind: 'statuses', statuses }
}

export function isMember({ statuses }: Statuses, status: CommandStatus): boolean {
  return statuses?.has(status) ?? true
}
