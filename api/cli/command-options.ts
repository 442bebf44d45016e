// What a command and a broadcast are told in: a name, data, priority and time.
import type { Command } from 'commander'
import type { JsonObject } from '../../schemas/json.ts'
import { COMMAND_PRIORITIES, type CommandPriority } from '../../schemas/vocabulary.ts'
import { jsonObject, parameter, wholeNumber } from './option-parsers.ts'

export interface CommandOptions {
  readonly param?: JsonObject
  readonly priority?: CommandPriority
  readonly timeout?: number
}

const TIMEOUT_SEC_MAX = 7 * 86_400

export function addCommandOptions(command: Command): Command {
  return command
    .argument('<command>', 'its name, such as move_to')
    .argument('[data]', 'a JSON object, @file or -', jsonObject)
    .option('-p, --param <name=value>', 'one field of the data; several add up', parameter)
    .option('--timeout <seconds>', 'it expires after so long', wholeNumber(1, TIMEOUT_SEC_MAX))
    .addOption(command.createOption('--priority <priority>', 'how urgent it is').choices(COMMAND_PRIORITIES))
}

export function toCommandBody(
  command: string,
  data: JsonObject | undefined,
  { param, priority, timeout }: CommandOptions,
) {
  return {
    command,
    ...(data === undefined && param === undefined ? {} : { data: { ...data, ...param } }),
    ...(priority === undefined ? {} : { priority }),
    ...(timeout === undefined ? {} : { timeout_sec: timeout }),
  }
}
