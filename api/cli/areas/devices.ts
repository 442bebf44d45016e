// `fleet devices`: the devices of the fleet, and their tokens.
import type { Command } from 'commander'
import type { DeviceBody } from '../../../schemas/device.ts'
import { TOKEN_SCOPES, type TokenScope } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { given } from '../given.ts'
import { DEVICE_ARGUMENT, wholeNumber, YES_OPTION } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'
import { confirm } from '../prompt.ts'
import { editDevices } from './device-edits.ts'
import { type FieldOptions, fieldsOf, withFields } from './device-fields.ts'
import { exportDevices, importDevices } from './device-files.ts'
import { type FilterOptions, filterOf, withFilter } from './device-filter.ts'

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
      '  fleet devices token robot-7 --ttl-hours 720\n',
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
        ...given({ sort }),
      }
      const pages = client.pages.listDevices({ query: asked })
      await cli.output.listFirst(pages, limit, COLUMNS)
    })
}

function get(command: Command, cli: Cli): void {
  command
    .command('get')
    .description('show a device')
    .argument(...DEVICE_ARGUMENT)
    .action(async (deviceId: string) => {
      const { client } = await cli.connect()
      cli.output.item(await client.getDevice({ device_id: deviceId }))
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
            ...given({ device_id: deviceId, parent_id: parent }),
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

function decommission(command: Command, cli: Cli): void {
  command
    .command('decommission')
    .description('decommission a device; this cannot be undone')
    .argument(...DEVICE_ARGUMENT)
    .option(...YES_OPTION)
    .action(async (deviceId: string, { yes }: { yes?: boolean }) => {
      const { client } = await cli.connect()
      await confirm(`Decommission ${deviceId}? It can never connect again.`, yes)
      cli.output.item(await client.decommissionDevice({ device_id: deviceId }), [
        ['device_id', (device) => device.device_id],
        ['status', (device) => device.status],
      ])
    })
}

function purge(command: Command, cli: Cli): void {
  command
    .command('purge')
    .description('remove everything about a device, and free its id; this cannot be undone')
    .argument(...DEVICE_ARGUMENT)
    .option(...YES_OPTION)
    .action(async (deviceId: string, { yes }: { yes?: boolean }) => {
      const { client } = await cli.connect()
      await confirm(`Purge ${deviceId}? Its record, telemetry and history are removed.`, yes)
      const removed = await client.decommissionDevice({ device_id: deviceId, query: { purge: true } })
      cli.output.item(removed, [
        ['device_id', (device) => device.device_id],
        ['status', (device) => device.status],
      ])
    })
}

const HOURS_MAX = 8_760
const SECONDS_MAX = 5 * 365 * 86_400

function token(devicesCommand: Command, cli: Cli): void {
  const command = devicesCommand
    .command('token')
    .description('issue a device token, which is the MQTT password of the device')
    .argument(...DEVICE_ARGUMENT)
    .option('--ttl-hours <hours>', 'validity of the token', wholeNumber(1, HOURS_MAX))
    .option('--ttl-sec <seconds>', 'validity in seconds instead', wholeNumber(60, SECONDS_MAX))
    .option('--revoke-previous', 'revoke every earlier token of the device and end its sessions')
  command.addOption(
    command.createOption('--scope <scopes...>', 'permissions of the token').choices(TOKEN_SCOPES),
  )
  command.action(async (deviceId: string, { ttlHours, ttlSec, scope, revokePrevious }: TokenOptions) => {
    const { client } = await cli.connect()
    const body = {
      device_id: deviceId,
      ...given({ ttl_hours: ttlHours, ttl_sec: ttlSec, scopes: scope, revoke_previous: revokePrevious }),
    }
    cli.output.item(await client.issueDeviceToken({ body }))
  })
}

interface TokenOptions {
  readonly ttlHours?: number
  readonly ttlSec?: number
  readonly scope?: TokenScope[]
  readonly revokePrevious?: true
}

function revoke(command: Command, cli: Cli): void {
  command
    .command('revoke')
    .description('revoke every token of a device and end its sessions')
    .argument(...DEVICE_ARGUMENT)
    .option(...YES_OPTION)
    .action(async (deviceId: string, { yes }: { yes?: boolean }) => {
      const { client } = await cli.connect()
      await confirm(`Void the tokens of ${deviceId}? It needs a new one to connect.`, yes)
      cli.output.item(await client.revokeDeviceTokens({ device_id: deviceId }))
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
