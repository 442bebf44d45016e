// `fleet shadow`: the desired and reported state of a device.
import type { Command } from 'commander'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { bodyOf } from '../command-options.ts'
import { definedFields } from '../defined-fields.ts'
import { DEVICE_ARGUMENT, FROM_OPTION, TO_OPTION, wholeNumber } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'
import {
  type ChangeOptions,
  forDevices,
  IDS_ARGUMENT,
  listOfDevices,
  singleOf,
  type TargetOptions,
  targetsOf,
  withChange,
  withSelector,
} from './device-targets.ts'

export const shadow: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet shadow get robot-7\n  fleet shadow set robot-7 \'{"max_speed": 1.5}\'\n' +
      '  fleet shadow set robot-7 robot-8 \'{"max_speed": 1.5}\' --yes\n' +
      '  fleet shadow set robot-7 @wanted.json --replace --if-version 12\n' +
      '  fleet shadow set -l tag=canary,type=mqtt_device \'{"max_speed": 1.5}\' --dry-run\n' +
      '  fleet shadow revert robot-7 11\n',
  )
  get(command, cli)
  set(command, cli)
  delta(command, cli)
  history(command, cli)
  revert(command, cli)
}

const VERSION_MAX = Number.MAX_SAFE_INTEGER

interface Document {
  readonly device_id: string
  readonly version: number
  readonly in_sync: boolean
  readonly updated_at: string | null
  readonly desired: JsonObject
  readonly reported: JsonObject
  readonly delta: JsonObject
}

const FIELDS: readonly Column<Document>[] = [
  ['device_id', (document) => document.device_id],
  ['version', (document) => document.version],
  ['in_sync', (document) => document.in_sync],
  ['updated_at', (document) => document.updated_at],
  ['desired', (document) => document.desired],
  ['reported', (document) => document.reported],
  ['delta', (document) => document.delta],
]

function get(shadowCommand: Command, cli: Cli): void {
  const command = withSelector(
    shadowCommand
      .command('get')
      .description('show desired state, reported state and their difference')
      .argument(...IDS_ARGUMENT),
  ).option(
    '--at-version <version>',
    'show the shadow of one device as it was at this version',
    wholeNumber(0, VERSION_MAX),
  )
  command.action(async (ids: readonly string[], options: TargetOptions & { atVersion?: number }) => {
    const targets = targetsOf(command, ids, options)
    if (options.atVersion !== undefined && singleOf(targets) === undefined)
      return command.error('error: --at-version is for one device')
    const query = definedFields({ at_version: options.atVersion })
    return await forDevices<Document>(cli, targets, options, {
      run: (client, device_id) => client.getShadow({ device_id, query }),
      fields: FIELDS,
      columns: [
        ['ID', ({ device_id }) => device_id],
        ['VERSION', ({ version }) => version],
        ['IN SYNC', ({ in_sync }) => in_sync],
        ['DELTA', (document) => document.delta],
        ['REPORTED', ({ reported }) => reported],
      ],
    })
  })
}

interface SetOptions extends ChangeOptions {
  readonly replace?: boolean
  readonly ifVersion?: number
}

function set(shadowCommand: Command, cli: Cli): void {
  const command = withChange(
    shadowCommand
      .command('set')
      .description('change the desired state of devices; null removes a key')
      .argument(
        '[device_id...]',
        'ids of the devices, left out with --selector; then a JSON object, @file, or - for standard input',
      ),
  )
    .option('--replace', 'replace the whole desired state instead of merging')
    .option(
      '--if-version <version>',
      'only if the shadow of the one device still has this version',
      wholeNumber(0, VERSION_MAX),
    )
  command.action(async (words: readonly string[], options: SetOptions) => {
    const { replace: isReplaced = false, ifVersion } = options
    const text = words.at(-1)
    if (text === undefined || (words.length === 1 && options.selector === undefined))
      return command.error(
        'error: give device ids or --selector, and a JSON object such as \'{"max_speed": 1.5}\'',
      )
    const targets = targetsOf(command, words.slice(0, -1), options)
    if (ifVersion !== undefined && singleOf(targets) === undefined)
      return command.error('error: --if-version is for one device')
    const body = bodyOf(command, text)
    const query = isReplaced ? ({ mode: 'replace' } as const) : {}
    return await forDevices<Document>(cli, targets, options, {
      question: (what) => `Change the desired state of ${what}?`,
      run: (client, device_id) => client.setDesiredState({ device_id, body, query, ifMatch: ifVersion }),
      fields: FIELDS,
    })
  })
}

function delta(shadowCommand: Command, cli: Cli): void {
  const command = withSelector(
    shadowCommand
      .command('delta')
      .description('show where the reported state differs from the desired state')
      .argument(...IDS_ARGUMENT),
  )
  command.action(async (ids: readonly string[], options: TargetOptions) => {
    const fields: readonly Column<Pick<Document, 'device_id' | 'version' | 'delta'>>[] = [
      ['device_id', (found) => found.device_id],
      ['version', (found) => found.version],
      ['delta', (found) => found.delta],
    ]
    await forDevices(cli, targetsOf(command, ids, options), options, {
      run: (client, device_id) => client.getShadowDelta({ device_id }),
      fields,
      columns: fields.map(([name, read]) => [name === 'device_id' ? 'ID' : name.toUpperCase(), read]),
    })
  })
}

function revert(command: Command, cli: Cli): void {
  command
    .command('revert')
    .description('bring back the desired state of an earlier version')
    .argument(...DEVICE_ARGUMENT)
    .argument('<version>', 'the earlier version, see `fleet shadow history`', wholeNumber(0, VERSION_MAX))
    .option(
      '--if-version <version>',
      'only if the shadow still has this version',
      wholeNumber(0, VERSION_MAX),
    )
    .action(async (deviceId: string, version: number, { ifVersion }: { ifVersion?: number }) => {
      const { client } = await cli.connect()
      const call = { device_id: deviceId, body: { to_version: version }, ifMatch: ifVersion }
      cli.output.item(await client.revertShadow(call), FIELDS)
    })
}

interface HistoryOptions extends TargetOptions {
  readonly section?: 'desired' | 'reported'
  readonly from?: string
  readonly to?: string
  readonly limit: number
}

function history(shadowCommand: Command, cli: Cli): void {
  const command = withSelector(
    shadowCommand
      .command('history')
      .description('list changes, newest first')
      .argument(...IDS_ARGUMENT),
  )
    .option(...FROM_OPTION)
    .option(...TO_OPTION)
    .option(...LIMIT_OPTION)
  command.addOption(
    command
      .createOption('--section <section>', 'only changes of this section')
      .choices(['desired', 'reported']),
  )
  command.action(async (ids: readonly string[], options: HistoryOptions) => {
    const { section, from, to, limit } = options
    const query = { per_page: pageSize(limit), ...definedFields({ section, from, to }) }
    await listOfDevices(cli, targetsOf(command, ids, options), {
      limit,
      pages: (client, device_id) => client.pages.getShadowHistory({ device_id, query }),
      columns: [
        ['VERSION', ({ version }) => version],
        ['TIME', ({ timestamp }) => timestamp],
        ['SECTION', (entry) => entry.section],
        ['BY', ({ actor }) => `${actor.type} ${actor.id}`],
        ['PATCH', ({ patch }) => patch],
      ],
    })
  })
}
