// `fleet logs` and `fleet events`: the log lines and the event timeline of a device or of all, past and live.
import { EVENT_KINDS } from '../../../schemas/history.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { LOG_LEVELS, type LogLevel } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { given } from '../given.ts'
import { FROM_OPTION, TO_OPTION } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize, take } from '../paged.ts'
import { watch } from '../watch.ts'

interface Options {
  readonly from?: string
  readonly to?: string
  readonly limit: number
  readonly follow?: boolean
  readonly group?: string
}

const FOLLOW = ['-f, --follow', 'print new entries as they arrive, until Ctrl-C'] as const

function toQuery({ from, to, limit }: Options) {
  return {
    limit: pageSize(limit),
    ...given({ from, to }),
  }
}

const DEVICE: Column<{ readonly device_id: string }> = ['DEVICE', ({ device_id }) => device_id]

interface Line {
  readonly timestamp: string
  readonly level: string
  readonly message: string
  readonly logger: string | null
}

const LINE: readonly Column<Line>[] = [
  ['TIME', ({ timestamp }) => timestamp],
  ['LEVEL', ({ level }) => level],
  ['LOGGER', ({ logger }) => logger],
  ['MESSAGE', ({ message }) => message],
]

export const logs: Area = (command, cli) => {
  command
    .argument('[device_id]', 'id of the device (default: all devices)')
    .option('--group <group>', 'only devices of this group and its subgroups')
    .option(...FROM_OPTION)
    .option(...TO_OPTION)
    .option(...FOLLOW)
    .option(...LIMIT_OPTION)
    .addHelpText(
      'after',
      '\nExamples:\n  fleet logs robot-7 --from 1h --level error fatal\n  fleet logs robot-7 -f\n  fleet logs --group warehouse --level fatal\n',
    )
  command.addOption(
    command.createOption('--level <levels...>', 'only lines with these levels').choices(LOG_LEVELS),
  )
  command.action(async (deviceId: string | undefined, options: Options & { level?: LogLevel[] }) => {
    const { level, limit } = options
    if (options.follow === true)
      return await follow<Line>({ cli, deviceId, group: options.group, channel: 'logs' }, LINE, (line) =>
        level === undefined ? true : level.some((wanted) => wanted === line.level),
      )
    const { client } = await cli.connect()
    const query = { ...toQuery(options), ...(level === undefined ? {} : { level: level.join(',') }) }
    if (deviceId === undefined) {
      const pages = client.pages.listFleetLogs({ query: { ...query, ...given({ group: options.group }) } })
      return cli.output.list((await take(pages, limit)).items, [DEVICE, ...LINE])
    }
    const { items } = await take(client.pages.listDeviceLogs({ device_id: deviceId, query }), limit)
    cli.output.list(items, LINE)
  })
}

interface Happening {
  readonly timestamp: string
  readonly kind: string
  readonly data: JsonObject
}

const HAPPENING: readonly Column<Happening>[] = [
  ['TIME', ({ timestamp }) => timestamp],
  ['KIND', ({ kind }) => kind],
  ['WHAT', whatHappened],
]

export const events: Area = (command, cli) => {
  command
    .argument('[device_id]', 'id of the device (default: all devices)')
    .option('--group <group>', 'only devices of this group and its subgroups')
    .option(...FROM_OPTION)
    .option(...TO_OPTION)
    .option(...FOLLOW)
    .option(...LIMIT_OPTION)
    .addHelpText(
      'after',
      '\nExamples:\n  fleet events robot-7 --from 7d --kind status command\n  fleet events robot-7 -f\n  fleet events --from 1h\n',
    )
  command.addOption(
    command.createOption('--kind <kinds...>', 'only events of these kinds').choices(EVENT_KINDS),
  )
  command.action(async (deviceId: string | undefined, options: Options & { kind?: string[] }) => {
    const { kind, limit } = options
    if (options.follow === true)
      return await follow<Happening>(
        { cli, deviceId, group: options.group, channel: 'events' },
        HAPPENING,
        (event) => (kind === undefined ? true : kind.includes(event.kind)),
      )
    const { client } = await cli.connect()
    const query = { ...toQuery(options), ...(kind === undefined ? {} : { kind: kind.join(',') }) }
    if (deviceId === undefined) {
      const pages = client.pages.listFleetEvents({ query: { ...query, ...given({ group: options.group }) } })
      return cli.output.list((await take(pages, limit)).items, [DEVICE, ...HAPPENING])
    }
    const { items } = await take(client.pages.listDeviceEvents({ device_id: deviceId, query }), limit)
    cli.output.list(items, HAPPENING)
  })
}

/** A summary of the event. `--json` prints all of it. */
function whatHappened({ kind, data }: Happening): string {
  const text = (name: string) => plain(data[name])
  switch (kind) {
    case 'status':
      return `${data['from'] === null ? '' : `${text('from')} → `}${text('to')} (${text('cause')})`
    case 'command':
      return `${data['command'] === undefined ? '' : `${text('command')} `}${text('status')} ${text('command_id')}`
    case 'shadow':
      return `${text('section')} version ${text('version')} ${text('patch')}`
    default:
      return plain(data)
  }
}

const plain = (value: Json | undefined) =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)

interface Followed {
  readonly cli: Cli
  /** Undefined means all devices, or those of the group. */
  readonly deviceId: string | undefined
  readonly group: string | undefined
  readonly channel: 'logs' | 'events'
}

async function follow<Item>(
  { cli, deviceId, group, channel }: Followed,
  columns: readonly Column<Item>[],
  isWanted: (item: Item) => boolean,
): Promise<void> {
  const filter = given({ device_id: deviceId, group })
  await watch(cli, { channel, filter }, ({ type, device_id: of, data }) => {
    // A live event has the same fields as an entry of the list.
    const item = data as Item
    if (type !== 'event' || !isWanted(item)) return
    const cells = () => columns.map(([, read]) => read(item))
    if (deviceId !== undefined) cli.output.event(item, cells)
    else cli.output.event({ device_id: of, ...item }, () => [of, ...cells()])
  })
}
