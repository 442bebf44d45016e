// Options shared by commands to one device and broadcasts: name, data, priority and timeout.
import { type Command, InvalidArgumentError } from 'commander'
import type { JsonObject } from '../../schemas/json.ts'
import { COMMAND_PRIORITIES, type CommandPriority } from '../../schemas/vocabulary.ts'
import { definedFields } from './defined-fields.ts'
import { jsonObject, parameter, wholeNumber } from './option-parsers.ts'

export interface CommandOptions {
  readonly param?: JsonObject
  readonly priority?: CommandPriority
  readonly timeout?: number
}

const TIMEOUT_SEC_MAX = 7 * 86_400

export const NAME_ARGUMENT = ['<command>', 'name of the command, such as move_to'] as const
export const DATA_ARGUMENT = ['[data]', 'JSON object, @file, or - for standard input'] as const

export function addCommandOptions(command: Command): Command {
  return command
    .option('-p, --param <name=value>', 'set one field of the data (repeatable)', parameter)
    .option('--timeout <seconds>', 'expire the command after this time', wholeNumber(1, TIMEOUT_SEC_MAX))
    .addOption(
      command.createOption('--priority <priority>', 'priority of the command').choices(COMMAND_PRIORITIES),
    )
}

export function toCommandBody(
  command: string,
  data: JsonObject | undefined,
  { param, priority, timeout }: CommandOptions,
) {
  return {
    command,
    ...(data === undefined && param === undefined ? {} : { data: { ...data, ...param } }),
    ...definedFields({ priority, timeout_sec: timeout }),
  }
}

/** Parses a JSON object whose position on the line depends on the words before it. */
export function bodyOf(command: Command, text: string): JsonObject {
  try {
    return jsonObject(text)
  } catch (error) {
    if (error instanceof InvalidArgumentError) return command.error(`error: ${error.message}`)
    throw error
  }
}
