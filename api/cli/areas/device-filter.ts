// Which devices are meant: the options that a list and an export share.
import type { Command } from 'commander'
import { DEVICE_STATUSES, type DeviceStatus } from '../../../schemas/vocabulary.ts'
import { collect } from '../option-parsers.ts'

export interface FilterOptions {
  readonly group?: string
  readonly exact?: boolean
  readonly status?: DeviceStatus
  readonly type?: string
  readonly tag?: readonly string[]
  readonly query?: string
}

export function withFilter(command: Command): Command {
  return command
    .option('--group <group>', 'of this group and the groups below it')
    .option('--exact', 'of this very group')
    .option('--type <type>', 'of this type')
    .option('--tag <tag>', 'with this tag; several: with all of them', collect)
    .option('-q, --query <prefix>', 'whose name or id begins so')
    .addOption(command.createOption('--status <status>', 'in this status').choices(DEVICE_STATUSES))
}

export function filterOf({ group, exact, status, type, tag, query }: FilterOptions) {
  return {
    ...(group === undefined ? {} : { group }),
    ...(exact === undefined ? {} : { group_exact: exact }),
    ...(status === undefined ? {} : { status }),
    ...(type === undefined ? {} : { type }),
    ...(tag === undefined ? {} : { tag: [...tag] }),
    ...(query === undefined ? {} : { q: query }),
  }
}
