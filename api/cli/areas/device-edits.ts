// `fleet devices edit`: fields of one device, or one change of several devices.
import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import type { BulkEditBody, BulkEditResult } from '../../../schemas/bulk-edit.ts'
import type { DeviceStatus } from '../../../schemas/vocabulary.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { EXIT, Failure } from '../failure.ts'
import { collect } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { confirm } from '../prompt.ts'
import { type FieldOptions, fieldsOf, withFields } from './device-fields.ts'
import {
  type ChangeOptions,
  IDS_ARGUMENT,
  singleOf,
  type Targets,
  targetsOf,
  withChange,
} from './device-targets.ts'

interface EditOptions extends FieldOptions, ChangeOptions {
  readonly addTag?: readonly string[]
  readonly removeTag?: readonly string[]
  readonly status?: DeviceStatus
  readonly reason?: string
  readonly ifMatch?: string
}

/** Long enough for ten thousand changes, each of which is written to the log. */
const TIMEOUT_MS = 600_000

export function editDevices(devicesCommand: Command, cli: Cli): void {
  const command = withChange(
    withFields(
      devicesCommand
        .command('edit')
        .description(
          'change a device, several, or with --selector all that match; --metadata is merged, null removes a key',
        )
        .argument(...IDS_ARGUMENT)
        .option('--name <name>', 'display name'),
    ),
  )
    .option('--add-tag <tag>', 'of several devices: tag to add to those that each has (repeatable)', collect)
    .option('--remove-tag <tag>', 'of several devices: tag to remove (repeatable)', collect)
    .option('--reason <text>', 'reason for the change of status')
    .option('--if-match <etag>', 'only if the device still has this etag')
    .addHelpText(
      'after',
      '\nExamples:\n  fleet devices edit robot-7 --group warehouse/b\n' +
        '  fleet devices edit robot-7 robot-8 --group warehouse/b --yes\n' +
        '  fleet devices edit -l group=warehouse/a,type=ros2_robot --add-tag floor-2 --dry-run\n' +
        '  fleet devices edit -l tag=canary --status maintenance --reason "new wheels" --yes\n',
    )
  command.addOption(
    command.createOption('--status <status>', 'set the status by hand').choices(['online', 'maintenance']),
  )
  command.action(async (ids: readonly string[], options: EditOptions) => {
    const targets = targetsOf(command, ids, options)
    const one = singleOf(targets)
    const wrong = misuse(one !== undefined, options)
    if (wrong !== undefined) return command.error(`error: ${wrong}`)
    return one === undefined ? await editMany(cli, targets, options) : await editOne(cli, one, options)
  })
}

/** Options that are missing or do not fit together. */
function misuse(isOne: boolean, options: EditOptions): string | undefined {
  const { name, description, tag, metadata, heartbeatTimeout, ifMatch } = options
  const isEmpty = [fieldsOf(options), patchOf(options), definedFields({ name })].every(
    (fields) => Object.keys(fields).length === 0,
  )
  if (isEmpty) return 'nothing to change; see --help for the fields'
  if (isOne) {
    const [misplaced] = Object.keys(
      definedFields({
        'add-tag': options.addTag,
        'remove-tag': options.removeTag,
        'dry-run': options.dryRun,
      }),
    )
    const instead = misplaced === 'dry-run' ? '' : '; --tag sets the tags of one device'
    return misplaced === undefined ? undefined : `--${misplaced} is for several devices${instead}`
  }
  const ofOne = {
    name,
    description,
    tag,
    metadata,
    'heartbeat-timeout': heartbeatTimeout,
    'if-match': ifMatch,
  }
  const [misplaced] = Object.keys(definedFields(ofOne))
  if (misplaced === undefined) return undefined
  const instead = misplaced === 'tag' ? '; use --add-tag and --remove-tag' : ''
  return `--${misplaced} is for one device${instead}`
}

function patchOf({ group, addTag, removeTag, status, reason }: EditOptions): BulkEditBody['patch'] {
  return {
    ...definedFields({ group, status, status_reason: reason }),
    ...(addTag === undefined ? {} : { tags_add: [...addTag] }),
    ...(removeTag === undefined ? {} : { tags_remove: [...removeTag] }),
  }
}

async function editOne(cli: Cli, deviceId: string, options: EditOptions): Promise<void> {
  const { name, status, reason, ifMatch } = options
  const body = { ...fieldsOf(options), ...definedFields({ name, status, status_reason: reason }) }
  const { client } = await cli.connect()
  cli.output.item(await client.editDevice({ device_id: deviceId, body, ifMatch }))
}

/** Shows how many devices match before changing them. */
async function editMany(cli: Cli, targets: Targets, options: EditOptions): Promise<void> {
  const { dryRun, yes } = options
  const { client } = await cli.connect({ timeoutMs: TIMEOUT_MS })
  const which = targets.kind === 'ids' ? { device_ids: [...targets.ids] } : { filter: targets.selector }
  const body = { ...which, patch: patchOf(options) }
  if (dryRun === true || yes !== true) {
    const expected = await client.bulkEditDevices({ body, query: { dry_run: true } })
    if (dryRun === true) return cli.output.item<BulkEditResult>(expected, SUMMARY)
    await confirm(`Change ${expected.changed} of ${expected.total} devices?`, yes)
  }
  cli.output.progress('changing')
  const done = await client.bulkEditDevices({ body, idempotencyKey: randomUUID() })
  cli.output.progress(undefined)
  cli.output.item<BulkEditResult>(done, SUMMARY)
  if (done.failed === 0) return
  const failures = done.results.flatMap(({ device_id, error }) =>
    error === undefined ? [] : [`${device_id}: ${error.message}`],
  )
  throw new Failure(
    EXIT.failed,
    `${done.failed} of ${done.total} devices were not changed: ${failures.slice(0, FAILURES_SHOWN).join('; ')}`,
  )
}

const FAILURES_SHOWN = 10

const countsText = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts).map(([name, count]) => `${count} ${name}`)

const SUMMARY: readonly Column<BulkEditResult>[] = [
  ['devices', ({ total }) => total],
  ['changed', ({ changed }) => changed],
  ['unchanged', ({ unchanged }) => unchanged],
  ['failed', ({ failed }) => failed],
  ['by status', ({ by_status }) => countsText(by_status)],
  ['by type', ({ by_type }) => countsText(by_type)],
  ['first', ({ results }) => results.slice(0, FAILURES_SHOWN).map(({ device_id }) => device_id)],
]
