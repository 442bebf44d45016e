// `fleet shadow`.
import type { Command } from 'commander'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { instant, jsonObject, wholeNumber } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize, take } from '../paged.ts'

export const shadow: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet shadow get robot-7\n  fleet shadow set robot-7 \'{"max_speed": 1.5}\'\n' +
      '  fleet shadow set robot-7 @wanted.json --replace --if-version 12\n',
  )
  get(command, cli)
  set(command, cli)
  delta(command, cli)
  history(command, cli)
}

const DEVICE = ['<device_id>', 'the id of the device'] as const
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
    .description('both sides, and the difference')
    .argument(...DEVICE)
    .action(async (deviceId: string) => {
      const { client } = await cli.connect()
      cli.output.item(await client.getShadow({ device_id: deviceId }), FIELDS)
    })
}

function set(command: Command, cli: Cli): void {
  command
    .command('set')
    .description('change what is wanted of a device; null removes a key')
    .argument(...DEVICE)
    .argument('<json>', 'a JSON object, @file or -', jsonObject)
    .option('--replace', 'all of what is wanted: what is not named is removed')
    .option('--if-version <version>', 'only if this is still the version', wholeNumber(0, VERSION_MAX))
    .action(
      async (deviceId: string, body: JsonObject, options: { replace?: boolean; ifVersion?: number }) => {
        const { client } = await cli.connect()
        const query = options.replace === true ? ({ mode: 'replace' } as const) : {}
        const call = { device_id: deviceId, body, query, ifMatch: options.ifVersion }
        cli.output.item(await client.setDesiredState(call), FIELDS)
      },
    )
}

function delta(command: Command, cli: Cli): void {
  command
    .command('delta')
    .description('what of the desired state the device has otherwise')
    .argument(...DEVICE)
    .action(async (deviceId: string) => {
      const { client } = await cli.connect()
      cli.output.item(await client.getShadowDelta({ device_id: deviceId }), [
        ['device_id', (found) => found.device_id],
        ['version', (found) => found.version],
        ['delta', (found) => found.delta],
      ])
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
    .description('who changed what, newest first')
    .argument(...DEVICE)
    .option('--from <when>', 'an instant, or how long ago: 15m, 2h, 7d', (text: string) => instant(text))
    .option('--to <when>', 'up to then', (text: string) => instant(text))
    .option(...LIMIT_OPTION)
  command.addOption(command.createOption('--section <section>', 'one side').choices(['desired', 'reported']))
  command.action(async (deviceId: string, { section, from, to, limit }: HistoryOptions) => {
    const { client } = await cli.connect()
    const query = {
      per_page: pageSize(limit),
      ...(section === undefined ? {} : { section }),
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    }
    const { items } = await take(client.pages.getShadowHistory({ device_id: deviceId, query }), limit)
    cli.output.list(items, [
      ['VERSION', ({ version }) => version],
      ['TIME', ({ timestamp }) => timestamp],
      ['SECTION', (entry) => entry.section],
      ['BY', ({ actor }) => `${actor.type} ${actor.id}`],
      ['PATCH', ({ patch }) => patch],
    ])
  })
}
