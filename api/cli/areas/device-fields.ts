// Options for the fields of a device, shared by `create` and `edit`.
import type { Command } from 'commander'
import { BODY_LIMITS } from '../../../schemas/body-limits.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { definedFields } from '../defined-fields.ts'
import { collect, jsonObject, wholeNumber } from '../option-parsers.ts'

export interface FieldOptions {
  readonly name?: string
  readonly description?: string
  readonly group?: string
  readonly tag?: readonly string[]
  readonly metadata?: JsonObject
  readonly heartbeatTimeout?: number | null
}

export function withFields(command: Command): Command {
  return command
    .option('--description <text>', 'description')
    .option('--group <group>', 'group, such as warehouse/a')
    .option('--tag <tag>', 'tag (repeatable)', collect)
    .option(
      '--heartbeat-timeout <seconds>',
      'silence after which it is offline, or `default` for that of its type or the service',
      heartbeatTimeout,
    )
    .option('--metadata <json>', 'JSON object of your own, @file, or - for standard input', jsonObject)
}

export function fieldsOf({ description, group, tag, metadata, heartbeatTimeout: seconds }: FieldOptions) {
  return {
    ...definedFields({ description, group }),
    ...(tag === undefined ? {} : { tags: [...tag] }),
    ...definedFields({ metadata, heartbeat_timeout_sec: seconds }),
  }
}

function heartbeatTimeout(text: string): number | null {
  const { heartbeatTimeoutSecMin: min, heartbeatTimeoutSecMax: max } = BODY_LIMITS
  return text === 'default' ? null : wholeNumber(min, max)(text)
}
