// `fleet telemetry`: latest values, history and live updates.
import type { Command } from 'commander'
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { AGGREGATES, type Aggregate, INTERVALS, type Interval } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { collect, instant, TO_OPTION, wholeNumber, words } from '../option-parsers.ts'
import { type WatchFrame, watch } from '../watch.ts'
import {
  forDevices,
  IDS_ARGUMENT,
  listOfDevices,
  singleOf,
  type TargetOptions,
  targetsOf,
  withSelector,
} from './device-targets.ts'

export const telemetry: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet telemetry get robot-7\n  fleet telemetry get robot-7 --watch\n' +
      '  fleet telemetry metrics robot-7\n' +
      '  fleet telemetry history robot-7 battery.percent --from 2h --interval 5m\n' +
      '  fleet telemetry history robot-7 battery.percent,cpu.load --agg avg,p95\n' +
      '  fleet telemetry history -l tag=canary battery.percent --from 1d --interval 1h\n' +
      '  fleet telemetry watch --group warehouse --metric battery --json\n',
  )
  get(command, cli)
  metrics(command, cli)
  history(command, cli)
  watchCommand(command, cli)
}

function get(telemetryCommand: Command, cli: Cli): void {
  const command = withSelector(
    telemetryCommand
      .command('get')
      .description('show the latest telemetry of a device, or of several in a table')
      .argument(...IDS_ARGUMENT),
  ).option('-w, --watch', 'keep printing updates of one device until Ctrl-C')
  command.action(async (ids: readonly string[], options: TargetOptions & { watch?: boolean }) => {
    const targets = targetsOf(command, ids, options)
    const one = singleOf(targets)
    if (options.watch === true && one === undefined)
      return command.error('error: --watch is for one device; `fleet telemetry watch` follows many')
    if (options.watch === true && one !== undefined) return await follow(cli, { device_id: one }, {})
    if (one === undefined)
      return await forDevices(cli, targets, options, {
        run: (client, device_id) => client.getTelemetry({ device_id }),
        columns: [
          ['ID', ({ device_id }) => device_id],
          ['TIME', ({ timestamp }) => timestamp],
          ['DATA', ({ data }) => data],
        ],
      })
    const { client } = await cli.connect()
    const snapshot = await client.getTelemetry({ device_id: one })
    return cli.output.item(snapshot, [
      ['device_id', ({ device_id }) => device_id],
      ['timestamp', ({ timestamp }) => timestamp],
      ...leaves(snapshot.data).map(([name, value]) => [name, () => value] as const),
    ])
  })
}

function metrics(telemetryCommand: Command, cli: Cli): void {
  const command = withSelector(
    telemetryCommand
      .command('metrics')
      .description('list the metrics that devices have reported, with their last values')
      .argument(...IDS_ARGUMENT),
  )
  command.action(async (ids: readonly string[], options: TargetOptions) => {
    await listOfDevices(cli, targetsOf(command, ids, options), {
      async *pages(client, device_id) {
        yield await client.listMetrics({ device_id })
      },
      columns: [
        ['METRIC', ({ metric }) => metric],
        ['TYPE', ({ type }) => type],
        ['VALUE', ({ value }) => value],
        ['UNIT', ({ unit }) => unit],
        ['TIME', ({ timestamp }) => timestamp],
      ],
    })
  })
}

/** The aggregates shown for a bucket unless `--agg` is given, in the order of the columns. */
const SHOWN = ['avg', 'min', 'max', 'last', 'count'] as const satisfies readonly Aggregate[]
type Aggregates = Readonly<Partial<Record<Aggregate, number | null>>>

interface Bucket extends Aggregates {
  readonly metric: string
  readonly time: string
}

interface HistoryOptions extends TargetOptions {
  readonly from?: string
  readonly to?: string
  readonly interval?: Interval
  readonly agg?: readonly Aggregate[]
}

function history(telemetryCommand: Command, cli: Cli): void {
  const command = withSelector(
    telemetryCommand
      .command('history')
      .description('show the history of a metric')
      .argument(
        '[device_id...]',
        'ids of the devices, left out with --selector; then the metric, such as battery.percent; several with commas, or battery.*',
      ),
  )
    .option('--from <when>', 'start: a time, or an age such as 15m, 2h, 7d (default: 1h)', (text: string) =>
      instant(text),
    )
    .option(...TO_OPTION)
    .option('--agg <names>', `values of a bucket, with commas: ${AGGREGATES.join(', ')}`, words(AGGREGATES))
  command.addOption(command.createOption('--interval <interval>', 'bucket width').choices(INTERVALS))
  command.action(async (texts: readonly string[], options: HistoryOptions) => {
    const { from, to, interval, agg } = options
    const metric = texts.at(-1)
    if (metric === undefined || (texts.length === 1 && options.selector === undefined))
      return command.error('error: give device ids or --selector, and a metric such as battery.percent')
    const query = {
      metric: [metric],
      ...definedFields({ from, to, interval }),
      ...(agg === undefined ? {} : { agg: [...agg] }),
    }
    return await listOfDevices<Bucket>(cli, targetsOf(command, texts.slice(0, -1), options), {
      async *pages(client, device_id) {
        const found = await client.getTelemetryHistory({ device_id, query })
        // A list of names or a prefix returns one series per metric. Raw points are never requested here.
        const series = 'series' in found ? found.series : 'next_cursor' in found ? [] : [found]
        yield { data: series.flatMap(({ metric, data }) => data.map((bucket) => ({ metric, ...bucket }))) }
      },
      columns: [
        ['METRIC', (bucket) => bucket.metric],
        ['TIME', ({ time }) => time],
        ...(agg ?? SHOWN).map((name) => [name.toUpperCase(), (bucket: Bucket) => bucket[name]] as const),
      ],
    })
  })
}

const THROTTLE_MS_MAX = 3_600_000

interface WatchOptions {
  readonly group?: string
  readonly tag?: string
  readonly metric?: readonly string[]
  readonly throttleMs?: number
}

function watchCommand(command: Command, cli: Cli): void {
  command
    .command('watch')
    .description('print telemetry as it arrives, until Ctrl-C')
    .argument('[device_id]', 'id of one device (default: all you can see)')
    .option('--group <group>', 'only devices of this group and its subgroups')
    .option('--tag <tag>', 'only devices with this tag')
    .option('--metric <name>', 'only this metric, or all metrics below this prefix (repeatable)', collect)
    .option(
      '--throttle-ms <ms>',
      'at most one update per device in this time',
      wholeNumber(0, THROTTLE_MS_MAX),
    )
    .action(async (deviceId: string | undefined, { group, tag, metric, throttleMs }: WatchOptions) => {
      const filter = definedFields({ device_id: deviceId, group, tag, metrics: metric })
      await follow(cli, filter, { throttleMs })
    })
}

async function follow(
  cli: Cli,
  filter: JsonObject,
  { throttleMs }: { throttleMs?: number | undefined },
): Promise<void> {
  const show = (deviceId: Json | undefined, report: JsonObject) => {
    const { timestamp, data } = report
    cli.output.event({ device_id: deviceId, timestamp, data }, () => [
      timestamp,
      deviceId,
      leaves(data)
        .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
        .join(' '),
    ])
  }
  await watch(cli, { channel: 'telemetry', filter, throttleMs, snapshot: true }, (frame: WatchFrame) => {
    const { data, device_id: deviceId } = frame
    if (frame['type'] === 'event') return show(deviceId, toObject(data))
    // A device that never reported has nothing to print.
    for (const item of Array.isArray(data) ? data : [])
      if (toObject(item)['timestamp'] !== null) show(toObject(item)['device_id'], toObject(item))
  })
}

const toObject = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})

/** Every leaf value under its dotted metric name. */
function leaves(value: Json | undefined, prefix = ''): readonly (readonly [string, Json])[] {
  return Object.entries(toObject(value)).flatMap(([name, inner]) =>
    isObject(inner) ? leaves(inner, `${prefix}${name}.`) : [[`${prefix}${name}`, inner] as const],
  )
}
