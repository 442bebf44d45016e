// `fleet shadow`: the desired and reported state of a device.
import { type Command, InvalidArgumentError } from 'commander'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { given } from '../given.ts'
import {
  DEVICE_ARGUMENT,
  FROM_OPTION,
  jsonObject,
  TO_OPTION,
  wholeNumber,
  YES_OPTION,
} from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'
import { type Selector, selector } from './device-selector.ts'
import { setForMany } from './shadow-many.ts'

export const shadow: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet shadow get robot-7\n  fleet shadow set robot-7 \'{"max_speed": 1.5}\'\n' +
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

function get(command: Command, cli: Cli): void {
  command
    .command('get')
    .description('show desired state, reported state and their difference')
    .argument(...DEVICE_ARGUMENT)
    .option(
      '--at-version <version>',
      'show the shadow as it was at this version',
      wholeNumber(0, VERSION_MAX),
    )
    .action(async (deviceId: string, { atVersion }: { atVersion?: number }) => {
      const { client } = await cli.connect()
      const query = given({ at_version: atVersion })
      cli.output.item(await client.getShadow({ device_id: deviceId, query }), FIELDS)
    })
}

interface SetOptions {
  readonly selector?: Selector
  readonly replace?: boolean
  readonly ifVersion?: number
  readonly dryRun?: boolean
  readonly yes?: boolean
}

function set(shadowCommand: Command, cli: Cli): void {
  const command = shadowCommand
    .command('set')
    .description(
      'change the desired state of a device, or with --selector of all that match; null removes a key',
    )
    .argument('[device_id]', 'id of the device; left out with --selector')
    .argument('[json]', 'JSON object, @file, or - for standard input')
    .option(
      '-l, --selector <name=value,…>',
      'change all devices that match instead, such as tag=canary,status=online (repeatable: all must match)',
      selector,
    )
    .option('--replace', 'replace the whole desired state instead of merging')
    .option(
      '--if-version <version>',
      'only if the shadow still has this version',
      wholeNumber(0, VERSION_MAX),
    )
    .option('--dry-run', 'with --selector: print how many devices match, and change nothing')
    .option(...YES_OPTION)
  command.action(async (first: string | undefined, second: string | undefined, options: SetOptions) => {
    const { selector: filter, replace: isReplaced = false, ifVersion, dryRun: isDryRun = false } = options
    const misused = misuse([first, second], options)
    if (misused !== undefined) return command.error(`error: ${misused}`)
    const body = bodyOf(command, (filter === undefined ? second : first) ?? '')
    if (filter !== undefined) {
      const about = { selector: filter, body, isReplaced, isDryRun, isSure: options.yes === true }
      return await setForMany(cli, about)
    }
    const { client } = await cli.connect()
    const query = isReplaced ? ({ mode: 'replace' } as const) : {}
    const call = { device_id: first ?? '', body, query, ifMatch: ifVersion }
    cli.output.item(await client.setDesiredState(call), FIELDS)
  })
}

/** What the line lacks, or has too much of. */
function misuse(
  [first, second]: readonly [string | undefined, string | undefined],
  { selector: filter, ifVersion, dryRun }: SetOptions,
): string | undefined {
  if (filter !== undefined && second !== undefined) return 'give a device id or --selector, not both'
  if (filter !== undefined && ifVersion !== undefined) return '--if-version is for one device'
  if (filter === undefined && dryRun === true) return '--dry-run goes with --selector'
  if ((filter === undefined ? second : first) !== undefined) return undefined
  return filter === undefined
    ? 'give a device id, or --selector, and a JSON object'
    : 'give a JSON object such as \'{"max_speed": 1.5}\''
}

function bodyOf(command: Command, text: string): JsonObject {
  try {
    return jsonObject(text)
  } catch (error) {
    if (error instanceof InvalidArgumentError) return command.error(`error: ${error.message}`)
    throw error
  }
}

function delta(command: Command, cli: Cli): void {
  command
    .command('delta')
    .description('show where the reported state differs from the desired state')
    .argument(...DEVICE_ARGUMENT)
    .action(async (deviceId: string) => {
      const { client } = await cli.connect()
      cli.output.item(await client.getShadowDelta({ device_id: deviceId }), [
        ['device_id', (found) => found.device_id],
        ['version', (found) => found.version],
        ['delta', (found) => found.delta],
      ])
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

interface HistoryOptions {
  readonly section?: 'desired' | 'reported'
  readonly from?: string
  readonly to?: string
  readonly limit: number
}

function history(shadowCommand: Command, cli: Cli): void {
  const command = shadowCommand
    .command('history')
    .description('list changes, newest first')
    .argument(...DEVICE_ARGUMENT)
    .option(...FROM_OPTION)
    .option(...TO_OPTION)
    .option(...LIMIT_OPTION)
  command.addOption(
    command
      .createOption('--section <section>', 'only changes of this section')
      .choices(['desired', 'reported']),
  )
  command.action(async (deviceId: string, { section, from, to, limit }: HistoryOptions) => {
    const { client } = await cli.connect()
    const query = {
      per_page: pageSize(limit),
      ...given({ section, from, to }),
    }
    await cli.output.listFirst(client.pages.getShadowHistory({ device_id: deviceId, query }), limit, [
      ['VERSION', ({ version }) => version],
      ['TIME', ({ timestamp }) => timestamp],
      ['SECTION', (entry) => entry.section],
      ['BY', ({ actor }) => `${actor.type} ${actor.id}`],
      ['PATCH', ({ patch }) => patch],
    ])
  })
}
