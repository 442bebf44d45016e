// `fleet broadcast`: one command to all devices of a group.
import { randomUUID } from 'node:crypto'
import { setTimeout as passes } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Client } from '../../../schemas/client.ts'
import type { BroadcastRequestBody } from '../../../schemas/command.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { TargetPreview } from '../../../schemas/target-preview.ts'
import { COMMAND_STATUSES, type CommandStatus } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import {
  addCommandOptions,
  type CommandOptions,
  DATA_ARGUMENT,
  NAME_ARGUMENT,
  toCommandBody,
} from '../command-options.ts'
import { definedFields } from '../defined-fields.ts'
import { EXIT, Failure } from '../failure.ts'
import { jsonObject, YES_OPTION } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'
import { patiently } from '../patiently.ts'
import { confirm } from '../prompt.ts'
import { selector } from './device-selector.ts'

export const broadcast: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet broadcast send warehouse/a stop --priority critical --wait\n' +
      '  fleet broadcast send tag=canary,status=online reboot --dry-run\n' +
      '  fleet broadcast list\n' +
      '  fleet broadcast show bc_01jd0c3k9x7m2v5t8r4q6w1z0y --failed\n',
  )
  send(command, cli)
  list(command, cli)
  show(command, cli)
  get(command, cli)
  cancel(command, cli)
}

interface State {
  readonly broadcast_id: string
  readonly group: string | null
  readonly target: { readonly type: string; readonly value?: unknown }
  readonly command: string
  readonly status: string
  readonly total: number
  readonly accepted: number
  readonly skipped: readonly { readonly device_id: string; readonly reason: string }[]
  readonly counts?: Readonly<Record<string, number>>
}

const FIELDS: readonly Column<State>[] = [
  ['broadcast_id', ({ broadcast_id }) => broadcast_id],
  ['target', toTarget],
  ['command', (state) => state.command],
  ['status', ({ status }) => status],
  ['devices', ({ total }) => total],
  ['accepted', ({ accepted }) => accepted],
  ['skipped', ({ skipped }) => skipped.map(({ device_id, reason }) => `${device_id} (${reason})`)],
  ['counts', ({ counts }) => (counts === undefined ? undefined : countsText(counts))],
]

/** A group is given as its bare name. */
function toTarget({ group, target }: Pick<State, 'group' | 'target'>): string {
  return group ?? `${target.type} ${JSON.stringify(target.value)}`
}

const PREVIEW_FIELDS: readonly Column<TargetPreview>[] = [
  ['devices', ({ total }) => total],
  ['accepted', ({ accepted }) => accepted],
  ['by status', ({ by_status }) => countsText(by_status)],
  ['by type', ({ by_type }) => countsText(by_type)],
  ['skipped', ({ by_reason }) => countsText(by_reason)],
  ['first', ({ sample }) => sample.map(({ device_id }) => device_id)],
]

const countsText = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([status, count]) => `${count} ${status}`)
    .join(', ')

const POLL_EVERY_MS = 1_000
const OPEN: ReadonlySet<string> = new Set(['pending', 'in_progress'])

function send(broadcastCommand: Command, cli: Cli): void {
  const command = broadcastCommand
    .command('send')
    .description('send a command to every device of a group and its subgroups, or to all that match')
    .argument(
      '<target>',
      'group, such as warehouse/a; or properties that all match, such as tag=canary,status=online',
      target,
    )
    .argument(...NAME_ARGUMENT)
    .argument(...DATA_ARGUMENT, jsonObject)
  addCommandOptions(command)
    .option('--wait', 'wait until every device has finished')
    .option('--dry-run', 'print which devices would get it, and send nothing')
    .option('--key <key>', 'idempotency key: repeating it sends the broadcast only once (default: random)')
    .option(...YES_OPTION)
    .action(async (destination: Target, name: string, data: JsonObject | undefined, options: SendOptions) =>
      sendBroadcast(cli, { ...destination, ...toCommandBody(name, data, options) }, options),
    )
}

/** Asks for confirmation unless it is urgent or nobody is there to answer, sends it, and on request waits for its end. */
export async function sendBroadcast(
  cli: Cli,
  body: BroadcastRequestBody,
  { dryRun, yes, wait, key = randomUUID() }: BroadcastOptions,
): Promise<void> {
  const { client } = await cli.connect()
  const mayAsk = process.stdin.isTTY && yes !== true && body.priority !== 'critical'
  const preview = dryRun === true || mayAsk ? await previewOf(client, body) : undefined
  if (dryRun === true && preview !== undefined) return cli.output.item<TargetPreview>(preview, PREVIEW_FIELDS)
  if (preview !== undefined && preview.accepted > 1)
    await confirm(`Send ${body.command} to ${preview.accepted} devices?`, false)
  const sent = await client.broadcastCommand({
    body: { ...body, ...definedFields({ expected_total: preview?.total }) },
    idempotencyKey: key,
  })
  if (!('broadcast_id' in sent)) return
  if (wait === undefined || wait === false) return cli.output.item<State>(sent, FIELDS)
  const { broadcast_id } = sent
  const deadline = wait === true ? Number.POSITIVE_INFINITY : performance.now() + wait * 1_000
  for (;;) {
    const ask = () => client.getBroadcast({ broadcast_id, query: { per_page: 1 } })
    const state = await patiently(cli, ask, deadline)
    const isOpen = OPEN.has(state.status)
    if (!isOpen || performance.now() >= deadline) {
      cli.output.progress(undefined)
      cli.output.item<State>(state, FIELDS)
      if (state.status === 'completed') return
      throw isOpen
        ? new Failure(
            EXIT.unfinished,
            `${broadcast_id} is still ${state.status}; see \`fleet broadcast show\``,
          )
        : new Failure(EXIT.failed, `${broadcast_id} ended with status ${state.status}`)
    }
    cli.output.progress(`${broadcast_id}: ${countsText(state.counts)}`)
    await passes(POLL_EVERY_MS, undefined, { signal: cli.signal })
  }
}

type Target = Pick<BroadcastRequestBody, 'group' | 'target'>

/** A text without an equals sign is a group, because no group name contains one. */
function target(text: string): Target {
  return text.includes('=')
    ? { target: { type: 'query', value: selector(text, undefined) } }
    : { group: text }
}

async function previewOf(client: Client, body: BroadcastRequestBody): Promise<TargetPreview | undefined> {
  const response = await client.broadcastCommand({ body, query: { dry_run: true } })
  return 'broadcast_id' in response ? undefined : response
}

interface BroadcastOptions {
  /** Seconds. `true` waits without a limit. */
  readonly wait?: boolean | number
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly key?: string
}
type SendOptions = CommandOptions & BroadcastOptions

function list(broadcastCommand: Command, cli: Cli): void {
  broadcastCommand
    .command('list')
    .description('list the newest broadcasts and their results')
    .option(...LIMIT_OPTION)
    .action(async ({ limit }: { limit: number }) => {
      const { client } = await cli.connect()
      await cli.output.listFirst(
        client.pages.listBroadcasts({ query: { per_page: pageSize(limit) } }),
        limit,
        [
          ['ID', ({ broadcast_id }) => broadcast_id],
          ['TARGET', toTarget],
          ['COMMAND', (found) => found.command],
          ['STATUS', ({ status }) => status],
          ['COMMANDS', ({ counts }) => countsText(counts)],
          ['CREATED', ({ created_at }) => created_at],
        ],
      )
    })
}

/** The final statuses of a command that was not carried out. */
const FAILED = ['failed', 'rejected', 'expired'] as const satisfies readonly CommandStatus[]

interface ShowOptions {
  readonly failed?: boolean
  readonly status?: readonly string[]
  readonly limit: number
}

function show(broadcastCommand: Command, cli: Cli): void {
  const command = broadcastCommand
    .command('show')
    .description('list the devices of a broadcast and the status of each command')
    .argument('<broadcast_id>', 'id of the broadcast')
    .option('--failed', `only devices whose command is ${FAILED.join(', ')}`)
    .option(...LIMIT_OPTION)
  command
    .addOption(
      command
        .createOption('--status <statuses...>', 'only devices whose command has one of these statuses')
        .choices(COMMAND_STATUSES)
        .conflicts('failed'),
    )
    .action(async (broadcast_id: string, { failed, status, limit }: ShowOptions) => {
      const { client } = await cli.connect()
      const wanted = failed === true ? [...FAILED] : status
      const query = { per_page: pageSize(limit), ...definedFields({ status: wanted && [...wanted] }) }
      await cli.output.listFirst(client.pages.listBroadcastDevices({ broadcast_id, query }), limit, [
        ['DEVICE', ({ device_id }) => device_id],
        ['STATUS', (found) => found.status],
        [
          'ERROR',
          ({ error }) => error && [error.code, error.message].filter((text) => text !== '').join(': '),
        ],
        ['COMPLETED', ({ completed_at }) => completed_at],
        ['COMMAND', ({ command_id }) => command_id],
      ])
    })
}

function get(command: Command, cli: Cli): void {
  command
    .command('get')
    .description('show the progress of a broadcast')
    .argument('<broadcast_id>', 'id of the broadcast')
    .action(async (broadcast_id: string) => {
      const { client } = await cli.connect()
      cli.output.item<State>(await client.getBroadcast({ broadcast_id }), FIELDS)
    })
}

function cancel(command: Command, cli: Cli): void {
  command
    .command('cancel')
    .description('cancel the commands of a broadcast that are not finished')
    .argument('<broadcast_id>', 'id of the broadcast')
    .action(async (broadcast_id: string) => {
      const { client } = await cli.connect()
      cli.output.item<State>(await client.cancelBroadcast({ broadcast_id }), FIELDS)
    })
}
