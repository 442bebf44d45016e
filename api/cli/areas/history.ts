// `fleet logs` and `fleet events`: the log lines and the event timeline of a device or of all, past and live.

import type { Client } from '../../../schemas/client.ts'
import { EVENT_KINDS } from '../../../schemas/history.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { LOG_LEVELS } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { FROM_OPTION, TO_OPTION } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, type Pages, pageSize } from '../paged.ts'
import { watch } from '../watch.ts'

interface Options {
  readonly from?: string
  readonly to?: string
  readonly limit: number
  readonly follow?: boolean
  readonly group?: string
  readonly level?: readonly string[]
  readonly kind?: readonly string[]
}

const DEVICE: Column<{ readonly device_id: string }> = ['DEVICE', ({ device_id }) => device_id]

interface Line {
  readonly timestamp: string
  readonly level: string
  readonly message: string
  readonly logger: string | null
}

const LOG_COLUMNS: readonly Column<Line>[] = [
  ['TIME', ({ timestamp }) => timestamp],
  ['LEVEL', ({ level }) => level],
  ['LOGGER', ({ logger }) => logger],
  ['MESSAGE', ({ message }) => message],
]

export const logs = feedArea<Line>({
  channel: 'logs',
  columns: LOG_COLUMNS,
  choice: {
    name: 'level',
    description: 'only lines with these levels',
    words: LOG_LEVELS,
    valueOf: ({ level }) => level,
  },
  examples: ['robot-7 --from 1h --level error fatal', 'robot-7 -f', '--group warehouse --level fatal'],
  ofFleet: ({ pages }, query) => pages.listFleetLogs({ query }),
  ofDevice: ({ pages }, device_id, query) => pages.listDeviceLogs({ device_id, query }),
})

interface TimelineEvent {
  readonly timestamp: string
  readonly kind: string
  readonly data: JsonObject
}

const EVENT_COLUMNS: readonly Column<TimelineEvent>[] = [
  ['TIME', ({ timestamp }) => timestamp],
  ['KIND', ({ kind }) => kind],
  ['WHAT', eventText],
]

export const events = feedArea<TimelineEvent>({
  channel: 'events',
  columns: EVENT_COLUMNS,
  choice: {
    name: 'kind',
    description: 'only events of these kinds',
    words: EVENT_KINDS,
    valueOf: ({ kind }) => kind,
  },
  examples: ['robot-7 --from 7d --kind status command', 'robot-7 -f', '--from 1h'],
  ofFleet: ({ pages }, query) => pages.listFleetEvents({ query }),
  ofDevice: ({ pages }, device_id, query) => pages.listDeviceEvents({ device_id, query }),
})

/** A one-line summary of the event. `--json` prints all fields. */
function eventText({ kind, data }: TimelineEvent): string {
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

interface FeedQuery {
  readonly limit: number
  readonly from?: string
  readonly to?: string
  readonly group?: string
  readonly level?: string
  readonly kind?: string
}

/** How the two commands differ. */
interface FeedSpec<Item> {
  readonly channel: 'logs' | 'events'
  readonly columns: readonly Column<Item>[]
  /** The option that filters entries by a word. */
  readonly choice: {
    readonly name: 'level' | 'kind'
    readonly description: string
    readonly words: readonly string[]
    readonly valueOf: (item: Item) => string
  }
  readonly examples: readonly string[]
  readonly ofFleet: (client: Client, query: FeedQuery) => Pages<Item & { readonly device_id: string }>
  readonly ofDevice: (client: Client, deviceId: string, query: FeedQuery) => Pages<Item>
}

function feedArea<Item>({ channel, columns, choice, examples, ofFleet, ofDevice }: FeedSpec<Item>): Area {
  const { name, description: says, words, valueOf: of } = choice
  return (command, cli) => {
    command
      .argument('[device_id]', 'id of the device (default: all devices)')
      .option('--group <group>', 'only devices of this group and its subgroups')
      .option(...FROM_OPTION)
      .option(...TO_OPTION)
      .option('-f, --follow', 'print new entries as they arrive, until Ctrl-C')
      .option(...LIMIT_OPTION)
      .addHelpText(
        'after',
        ['\nExamples:', ...examples.map((line) => `  fleet ${channel} ${line}`), ''].join('\n'),
      )
      .addOption(command.createOption(`--${name} <${name}s...>`, says).choices(words))
    command.action(async (deviceId: string | undefined, options: Options) => {
      const { from, to, limit, group, follow, [name]: wanted } = options
      if (follow === true) {
        const isWanted = (item: Item) => wanted === undefined || wanted.includes(of(item))
        return await followFeed({ cli, deviceId, group, channel }, columns, isWanted)
      }
      const { client } = await cli.connect()
      const query = { limit: pageSize(limit), ...definedFields({ from, to, [name]: wanted?.join(',') }) }
      if (deviceId === undefined) {
        return await cli.output.listFirst(ofFleet(client, { ...query, ...definedFields({ group }) }), limit, [
          DEVICE,
          ...columns,
        ])
      }
      await cli.output.listFirst(ofDevice(client, deviceId, query), limit, columns)
    })
  }
}

interface FollowOptions {
  readonly cli: Cli
  /** Undefined means all devices, or all of the group. */
  readonly deviceId: string | undefined
  readonly group: string | undefined
  readonly channel: 'logs' | 'events'
}

async function followFeed<Item>(
  { cli, deviceId, group, channel }: FollowOptions,
  columns: readonly Column<Item>[],
  isWanted: (item: Item) => boolean,
): Promise<void> {
  const filter = definedFields({ device_id: deviceId, group })
  const place = [deviceId, group === undefined ? undefined : `--group ${group}`].filter(
    (part) => part !== undefined,
  )
  const onSubscribed = (lostAt: Date | undefined) => {
    if (lostAt === undefined) return
    const command = ['fleet', channel, ...place, '--from', lostAt.toISOString()].join(' ')
    cli.output.note(`connected again; what came meanwhile is shown by \`${command}\``)
  }
  await watch(cli, { channel, filter, onSubscribed }, ({ type, device_id: of, data }) => {
    // A live event has the same fields as an entry of the list.
    const item = data as Item
    if (type !== 'event' || !isWanted(item)) return
    const cells = () => columns.map(([, read]) => read(item))
    if (deviceId !== undefined) cli.output.event(item, cells)
    else cli.output.event({ device_id: of, ...item }, () => [of, ...cells()])
  })
}
