// `fleet devices`: the devices of the fleet, and their tokens.
import type { Command } from 'commander'
import type { DeviceBody } from '../../../schemas/device.ts'
import { TOKEN_SCOPES, type TokenScope } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { wholeNumber } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'
import { editDevices } from './device-edits.ts'
import { type FieldOptions, fieldsOf, withFields } from './device-fields.ts'
import { exportDevices, importDevices } from './device-files.ts'
import { type FilterOptions, filterOf, withFilter } from './device-filter.ts'
import {
  type ChangeOptions,
  forDevices,
  IDS_ARGUMENT,
  type TargetOptions,
  targetsOf,
  withChange,
  withSelector,
} from './device-targets.ts'

const COLUMNS: readonly Column<DeviceBody>[] = [
  ['ID', ({ device_id }) => device_id],
  ['NAME', ({ name }) => name],
  ['TYPE', ({ type }) => type],
  ['STATUS', ({ status }) => status],
  ['GROUP', ({ group }) => group],
  ['TAGS', ({ tags }) => tags],
  ['LAST SEEN', ({ last_seen_at }) => last_seen_at],
  ['WHY', ({ status_reason, issues }) => [status_reason ?? [], issues].flat().join('; ')],
]

export const devices: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet devices create robot-7 --name "Picker 7" --type ros2_robot --group warehouse/a --tag picker\n' +
      '  fleet devices list --group warehouse --status offline\n' +
      '  fleet devices edit robot-7 --status maintenance --reason "new wheels"\n' +
      '  fleet devices edit -l tag=canary --add-tag floor-2 --dry-run\n' +
      '  fleet devices token robot-7 --ttl-hours 720\n' +
      '  fleet devices get robot-7 robot-8\n' +
      '  fleet devices decommission -l tag=scrapped --dry-run\n',
  )
  list(command, cli)
  get(command, cli)
  create(command, cli)
  importDevices(command, cli)
  exportDevices(command, cli)
  editDevices(command, cli)
  decommission(command, cli)
  purge(command, cli)
  token(command, cli)
  revoke(command, cli)
  types(command, cli)
}

interface ListOptions extends FilterOptions {
  readonly sort?: string
  readonly limit: number
}

function list(command: Command, cli: Cli): void {
  withFilter(command.command('list').description('list devices'))
    .option('--sort <field>', 'sort by name, status, created_at, …; append :DESC for descending order')
    .option(...LIMIT_OPTION)
    .action(async (options: ListOptions) => {
      const { sort, limit } = options
      const { client } = await cli.connect()
      const asked = {
        per_page: pageSize(limit),
        ...filterOf(options),
        ...definedFields({ sort }),
      }
      const pages = client.pages.listDevices({ query: asked })
      await cli.output.listFirst(pages, limit, COLUMNS)
    })
}

function get(devicesCommand: Command, cli: Cli): void {
  const command = withSelector(
    devicesCommand
      .command('get')
      .description('show a device, or several in a table')
      .argument(...IDS_ARGUMENT),
  )
  command.action(async (ids: readonly string[], options: TargetOptions) => {
    await forDevices(cli, targetsOf(command, ids, options), options, {
      run: (client, device_id) => client.getDevice({ device_id }),
      columns: COLUMNS,
    })
  })
}

function create(command: Command, cli: Cli): void {
  withFields(
    command
      .command('create')
      .description('register a device; its MQTT token is shown only once')
      .argument('[device_id]', 'id of the device (default: generated)')
      .requiredOption('--name <name>', 'display name')
      .requiredOption('--type <type>', 'type, one of `fleet devices types`'),
  )
    .option('--parent <device_id>', 'gateway that connects on behalf of the device')
    .action(
      async (
        deviceId: string | undefined,
        options: FieldOptions & { name: string; type: string; parent?: string },
      ) => {
        const { name, type, parent } = options
        const { client } = await cli.connect()
        const registered = await client.registerDevice({
          body: {
            name,
            type,
            ...fieldsOf(options),
            ...definedFields({ device_id: deviceId, parent_id: parent }),
          },
        })
        cli.output.item(registered, [
          ['device_id', (device) => device.device_id],
          ['access_token', (device) => device.access_token],
          ['mqtt_endpoint', (device) => device.mqtt_endpoint],
          ['publish', (device) => device.mqtt_topics.publish],
          ['subscribe', (device) => device.mqtt_topics.subscribe],
          ['token_expires_at', (device) => device.token_expires_at],
        ])
      },
    )
}

const STATUS_FIELDS: readonly Column<DeviceBody>[] = [
  ['device_id', (device) => device.device_id],
  ['status', (device) => device.status],
]

function decommission(devicesCommand: Command, cli: Cli): void {
  const command = withChange(
    devicesCommand
      .command('decommission')
      .description('decommission devices; this cannot be undone')
      .argument(...IDS_ARGUMENT),
  )
  command.action(async (ids: readonly string[], options: ChangeOptions) => {
    await forDevices(cli, targetsOf(command, ids, options), options, {
      question: (what) => `Decommission ${what}? No connection is possible afterwards.`,
      asksAlways: true,
      run: (client, device_id) => client.decommissionDevice({ device_id }),
      fields: STATUS_FIELDS,
    })
  })
}

function purge(devicesCommand: Command, cli: Cli): void {
  const command = withChange(
    devicesCommand
      .command('purge')
      .description('remove everything about devices, and free their ids; this cannot be undone')
      .argument(...IDS_ARGUMENT),
  )
  command.action(async (ids: readonly string[], options: ChangeOptions) => {
    await forDevices(cli, targetsOf(command, ids, options), options, {
      question: (what) => `Purge ${what}? Record, telemetry and history are removed.`,
      asksAlways: true,
      run: (client, device_id) => client.decommissionDevice({ device_id, query: { purge: true } }),
      fields: STATUS_FIELDS,
    })
  })
}

const HOURS_MAX = 8_760
const SECONDS_MAX = 5 * 365 * 86_400

function token(devicesCommand: Command, cli: Cli): void {
  const command = withChange(
    devicesCommand
      .command('token')
      .description('issue device tokens, which are the MQTT passwords of the devices')
      .argument(...IDS_ARGUMENT),
  )
    .option('--ttl-hours <hours>', 'validity of the token', wholeNumber(1, HOURS_MAX))
    .option('--ttl-sec <seconds>', 'validity in seconds instead', wholeNumber(60, SECONDS_MAX))
    .option('--revoke-previous', 'revoke every earlier token of the device and end its sessions')
  command.addOption(
    command.createOption('--scope <scopes...>', 'permissions of the token').choices(TOKEN_SCOPES),
  )
  command.action(async (ids: readonly string[], options: TokenOptions) => {
    const { ttlHours, ttlSec, scope, revokePrevious } = options
    const about = definedFields({
      ttl_hours: ttlHours,
      ttl_sec: ttlSec,
      scopes: scope,
      revoke_previous: revokePrevious,
    })
    await forDevices(cli, targetsOf(command, ids, options), options, {
      question: (what) => `Issue tokens to ${what}?`,
      run: (client, device_id) => client.issueDeviceToken({ body: { device_id, ...about } }),
      columns: [
        ['ID', ({ device_id }) => device_id],
        ['MQTT TOKEN', ({ mqtt_token }) => mqtt_token],
        ['EXPIRES', ({ expires_at }) => expires_at],
      ],
    })
  })
}

interface TokenOptions extends ChangeOptions {
  readonly ttlHours?: number
  readonly ttlSec?: number
  readonly scope?: TokenScope[]
  readonly revokePrevious?: true
}

function revoke(devicesCommand: Command, cli: Cli): void {
  const command = withChange(
    devicesCommand
      .command('revoke')
      .description('revoke every token of devices and end their sessions')
      .argument(...IDS_ARGUMENT),
  )
  command.action(async (ids: readonly string[], options: ChangeOptions) => {
    await forDevices(cli, targetsOf(command, ids, options), options, {
      question: (what) => `Void the tokens of ${what}? A new one is needed to connect.`,
      asksAlways: true,
      run: (client, device_id) => client.revokeDeviceTokens({ device_id }),
    })
  })
}

function types(command: Command, cli: Cli): void {
  command
    .command('types')
    .description('list device types and their commands')
    .action(async () => {
      const { client } = await cli.connect()
      const { data } = await client.listDeviceTypes()
      cli.output.list(data, [
        ['NAME', ({ name }) => name],
        ['DISPLAY NAME', ({ display_name }) => display_name],
        ['COMMANDS', ({ commands }) => commands?.map(({ name }) => name) ?? 'any'],
      ])
    })
}
