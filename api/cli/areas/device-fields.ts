// Options for the fields of a device, shared by `create` and `edit`.
import type { Command } from 'commander'
import type { JsonObject } from '../../../schemas/json.ts'
import { given } from '../given.ts'
import { collect, jsonObject } from '../option-parsers.ts'

export interface FieldOptions {
  readonly name?: string
  readonly description?: string
  readonly group?: string
  readonly tag?: readonly string[]
  readonly metadata?: JsonObject
}

export function withFields(command: Command): Command {
  return command
    .option('--description <text>', 'description')
    .option('--group <group>', 'group, such as warehouse/a')
    .option('--tag <tag>', 'tag (repeatable)', collect)
    .option('--metadata <json>', 'JSON object of your own, @file, or - for standard input', jsonObject)
}

export function fieldsOf({ description, group, tag, metadata }: FieldOptions) {
  return {
    ...given({ description, group }),
    ...(tag === undefined ? {} : { tags: [...tag] }),
    ...given({ metadata }),
  }
}
