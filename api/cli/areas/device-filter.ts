// Options that select devices, shared by `list` and `export`.
import type { Command } from 'commander'
import { DEVICE_STATUSES, type DeviceStatus } from '../../../schemas/vocabulary.ts'
import { definedFields } from '../defined-fields.ts'
import { collect, words } from '../option-parsers.ts'

export interface FilterOptions {
  readonly group?: string
  readonly exact?: boolean
  readonly status?: readonly DeviceStatus[]
  readonly type?: string
  readonly tag?: readonly string[]
  readonly firmware?: string
  readonly query?: string
}

export function withFilter(command: Command): Command {
  return command
    .option('--group <group>', 'only devices of this group and its subgroups')
    .option('--exact', 'leave out the subgroups of --group')
    .option('--type <type>', 'only devices of this type')
    .option('--tag <tag>', 'only devices with this tag (repeatable: all must match)', collect)
    .option('--firmware <version>', 'only devices that say they run this version (empty: unknown)')
    .option('-q, --query <prefix>', 'only devices whose name or id starts with this')
    .addOption(
      command
        .createOption('--status <status>', 'only devices with this status; several with commas')
        .choices(DEVICE_STATUSES)
        .argParser(words(DEVICE_STATUSES)),
    )
}

export function filterOf({ group, exact, status, type, tag, firmware, query }: FilterOptions) {
  return {
    ...definedFields({ group, group_exact: exact, type }),
    ...(status === undefined ? {} : { status: [...status] }),
    ...(tag === undefined ? {} : { tag: [...tag] }),
    ...definedFields({ firmware_version: firmware, q: query }),
  }
}
