// The devices that a command line selects: those with the given ids, or all that match `--selector`. Every command for one
// device that also makes sense for many uses this, and reports for how many devices it succeeded.
import type { Command } from 'commander'
import { type Client, RefusalError } from '../../../schemas/client.ts'
import { eachAtOnce } from '../../../schemas/each-at-once.ts'
import type { Cli } from '../cli.ts'
import { EXIT, Failure } from '../failure.ts'
import { YES_OPTION } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { type Pages, take } from '../paged.ts'
import { confirm } from '../prompt.ts'
import { type Selector, selector } from './device-selector.ts'

export interface TargetOptions {
  readonly selector?: Selector
}

export interface ChangeOptions extends TargetOptions {
  readonly dryRun?: true
  readonly yes?: true
}

export type Targets =
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'matching'; readonly selector: Selector }

/** Concurrent requests. Each change waits for a write to the log. */
const AT_ONCE = 16
/** Enough for an export of a hundred thousand devices. */
const TIMEOUT_MS = 300_000
const SHOWN_MAX = 10

export const IDS_ARGUMENT = ['[device_id...]', 'ids of the devices; left out with --selector'] as const

export function withSelector(command: Command): Command {
  return command.option(
    '-l, --selector <name=value,…>',
    'all devices that match instead, such as tag=canary,status=online (repeatable: all must match)',
    selector,
  )
}

/** Adds the options of commands that change something. */
export function withChange(command: Command): Command {
  return withSelector(command)
    .option('--dry-run', 'print which devices are meant, and change nothing')
    .option(...YES_OPTION)
}

/** An argument may hold several comma-separated ids. */
export function targetsOf(command: Command, words: readonly string[], { selector }: TargetOptions): Targets {
  const ids = [...new Set(words.flatMap((word) => word.split(',')).filter((id) => id !== ''))]
  if (ids.length === 0 && selector === undefined) return command.error('error: give device ids or --selector')
  if (ids.length > 0 && selector !== undefined)
    return command.error('error: give device ids or --selector, not both')
  return selector === undefined ? { kind: 'ids', ids } : { kind: 'matching', selector }
}

/** The id, if a single device was given. */
export function singleOf(targets: Targets): string | undefined {
  return targets.kind === 'ids' && targets.ids.length === 1 ? targets.ids[0] : undefined
}

export interface DeviceWork<Result extends object> {
  run(client: Client, deviceId: string): Promise<Result>
  /** Fields to print for a single device. By default the whole result. */
  readonly fields?: readonly Column<Result>[]
  /** Columns of the table for many devices. By default only their number is printed. */
  readonly columns?: readonly Column<Result>[]
  /** The question before many devices are changed, or before any are if `asksAlways` is set. `what` describes them. */
  question?(what: string): string
  readonly asksAlways?: true
}

/** Runs the action for each device. Devices are independent: a refusal does not stop the others, and an interrupted command
 *  can be run again. */
export async function forDevices<Result extends object>(
  cli: Cli,
  targets: Targets,
  { dryRun, yes }: ChangeOptions,
  work: DeviceWork<Result>,
): Promise<void> {
  const { client } = await cli.connect()
  const one = singleOf(targets)
  if (one !== undefined && dryRun !== true) {
    if (work.asksAlways === true && work.question !== undefined) await confirm(work.question(one), yes)
    return cli.output.item(await work.run(client, one), work.fields)
  }
  const ids = await idsOf(client, targets)
  if (dryRun === true) return cli.output.item({ devices: ids.length, first: ids.slice(0, SHOWN_MAX) })
  if (work.question !== undefined) await confirm(work.question(`${ids.length} devices`), yes)
  const { done, failures } = await doEach(cli, ids, (id) => work.run(client, id))
  cli.output.progress(undefined)
  if (work.columns !== undefined) cli.output.list(done, work.columns)
  else cli.output.item({ devices: ids.length, done: done.length, failed: failures.length })
  failIfAny(ids, failures)
}

export interface DeviceListing<Item extends object> {
  readonly columns: readonly Column<Item>[]
  /** Maximum number of items per device. By default all are listed. */
  readonly limit?: number
  pages(client: Client, deviceId: string): Pages<Item>
}

/** Lists the items of each device. For several devices, each line begins with its device. */
export async function listOfDevices<Item extends object>(
  cli: Cli,
  targets: Targets,
  { pages, columns, limit = Number.POSITIVE_INFINITY }: DeviceListing<Item>,
): Promise<void> {
  const { client } = await cli.connect()
  const one = singleOf(targets)
  if (one !== undefined) return await cli.output.listFirst(pages(client, one), limit, columns)
  const ids = await idsOf(client, targets)
  const { done, failures } = await doEach(cli, ids, async (device_id) => {
    const { items, hasMore } = await take(pages(client, device_id), limit, () => {})
    return { items: items.map((item) => ({ ...item, device_id })), hasMore }
  })
  cli.output.progress(undefined)
  cli.output.list(
    done.flatMap(({ items }) => items),
    [['DEVICE', ({ device_id }) => device_id], ...columns],
  )
  if (done.some(({ hasMore }) => hasMore))
    cli.output.note(`only the first ${limit} of each device are shown; use --limit to see more`)
  failIfAny(ids, failures)
}

function failIfAny(ids: readonly string[], failures: readonly string[]): void {
  if (failures.length === 0) return
  const shown = failures.slice(0, SHOWN_MAX).join('; ')
  throw new Failure(EXIT.failed, `${failures.length} of ${ids.length} devices failed: ${shown}`)
}

async function doEach<Result>(
  cli: Cli,
  ids: readonly string[],
  run: (id: string) => Promise<Result>,
): Promise<{ readonly done: readonly Result[]; readonly failures: readonly string[] }> {
  const results: Result[][] = ids.map(() => [])
  const failures: string[] = []
  let begun = 0
  await eachAtOnce(ids.entries(), AT_ONCE, async ([index, id]) => {
    cli.signal.throwIfAborted()
    cli.output.progress(`${++begun} of ${ids.length}`)
    try {
      results[index] = [await run(id)]
    } catch (error) {
      // If the service is unreachable, the remaining devices would fail too.
      if (!(error instanceof RefusalError)) throw error
      failures.push(`${id}: ${error.message}`)
    }
  })
  return { done: results.flat(), failures }
}

async function idsOf(client: Client, targets: Targets): Promise<readonly string[]> {
  const ids = targets.kind === 'ids' ? targets.ids : await matching(client, targets.selector)
  if (ids.length === 0) throw new Failure(EXIT.usage, 'no device matches the selector')
  return ids
}

/** Leaves out decommissioned devices unless the selector asks for them. An export lists the devices of one moment. Pages of a
 *  list would skip one for each device that stops matching while they are read. */
async function matching(client: Client, { status, ...rest }: Selector): Promise<readonly string[]> {
  const query = { ...rest, ...(status === undefined ? {} : { status: [status] }), format: 'ndjson' as const }
  const text = await client.exportDevices({ query, timeoutMs: TIMEOUT_MS })
  const devices = text.split('\n').flatMap((line) => (line === '' ? [] : [toDevice(line)]))
  return devices
    .filter((device) => device.status !== 'decommissioned' || status === 'decommissioned')
    .map(({ device_id }) => device_id)
    .sort()
}

/** Each line of an export is a device. */
function toDevice(line: string): { readonly device_id: string; readonly status: string } {
  return JSON.parse(line)
}
