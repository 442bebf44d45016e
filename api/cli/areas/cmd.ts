// `fleet cmd`: commands to one device or to several named ones.
import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import type { Client } from '../../../schemas/client.ts'
import type { CommandBody, CommandRequestBody } from '../../../schemas/command.ts'
import { COMMAND_STATUSES, type CommandStatus } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import {
  addCommandOptions,
  bodyOf,
  type CommandOptions,
  DATA_ARGUMENT,
  NAME_ARGUMENT,
  toCommandBody,
} from '../command-options.ts'
import { definedFields } from '../defined-fields.ts'
import { EXIT, Failure } from '../failure.ts'
import { DEVICE_ARGUMENT, wholeNumber } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'
import { patiently } from '../patiently.ts'
import { sendBroadcast } from './broadcast.ts'
import {
  type ChangeOptions,
  IDS_ARGUMENT,
  listOfDevices,
  singleOf,
  type TargetOptions,
  targetsOf,
  withChange,
  withSelector,
} from './device-targets.ts'

const WAIT_SEC_MAX = 7 * 86_400
/** Seconds between two reads of the status, so that progress is shown. */
const POLL_SEC = 2
const OPEN: ReadonlySet<CommandStatus> = new Set(['pending', 'delivered', 'acked'])

const FIELDS: readonly Column<CommandBody>[] = [
  ['command_id', (command) => command.command_id],
  ['command', (command) => command.command],
  ['status', (command) => command.status],
  ['result', ({ result }) => result],
  ['error', ({ error }) => (error === null ? null : `${error.code}: ${error.message}`)],
  ['attempts', ({ attempts }) => attempts],
  ['created_at', ({ created_at }) => created_at],
  ['completed_at', ({ completed_at }) => completed_at],
]

export const cmd: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet cmd send robot-7 move_to -p x=3 -p y=4 --wait\n' +
      '  fleet cmd send robot-7 say \'{"text": "hello"}\' --priority high --timeout 60\n' +
      '  fleet cmd send robot-7,robot-8 stop --wait\n' +
      '  fleet cmd send -l tag=canary,status=online reboot --dry-run\n' +
      '  fleet cmd list robot-7 --status pending\n' +
      '  fleet cmd list -l tag=canary --status failed\n\n' +
      'With --wait, the exit code is 1 if the command does not complete, and 7 if it is still open.\n',
  )
  send(command, cli)
  list(command, cli)
  get(command, cli)
  cancel(command, cli)
}

interface CommandConnection {
  readonly cli: Cli
  readonly client: Client
}

interface SendOptions extends CommandOptions, ChangeOptions {
  /** Seconds. `true` waits without a limit. */
  readonly wait?: number | true
  readonly key?: string
}

function send(cmdCommand: Command, cli: Cli): void {
  const command = withChange(
    cmdCommand
      .command('send')
      .description('send a command to a device, or to several as a broadcast')
      .argument('[device_id]', 'id of the device, several with commas; left out with --selector')
      .argument('[command]', NAME_ARGUMENT[1])
      .argument(...DATA_ARGUMENT),
  )
  addCommandOptions(command)
    .option(
      '--wait [seconds]',
      'wait until the command ends, at most this long',
      wholeNumber(1, WAIT_SEC_MAX),
    )
    .option('--key <key>', 'idempotency key: repeating it sends the command only once (default: random)')
    .action(async (first: string | undefined, ...more: readonly unknown[]) => {
      const options: SendOptions = command.opts()
      const words = [first, ...more.slice(0, 2)].filter((word) => typeof word === 'string')
      const ids = options.selector === undefined ? words.splice(0, 1) : []
      const targets = targetsOf(command, ids, options)
      const [name, text, unexpected] = words
      if (name === undefined) return command.error('error: give the name of a command')
      if (unexpected !== undefined) return command.error('error: give device ids or --selector, not both')
      const body = toCommandBody(name, text === undefined ? undefined : bodyOf(command, text), options)
      const one = singleOf(targets)
      if (one !== undefined) return await sendOne(cli, one, body, options)
      const target =
        targets.kind === 'ids'
          ? { type: 'devices' as const, value: targets.ids }
          : { type: 'query' as const, value: targets.selector }
      return await sendBroadcast(cli, { target, ...body }, options)
    })
}

async function sendOne(
  cli: Cli,
  device_id: string,
  body: CommandRequestBody,
  { key = randomUUID(), wait, dryRun }: SendOptions,
): Promise<void> {
  const { client } = await cli.connect()
  if (dryRun === true) return cli.output.item({ devices: 1, first: [device_id] })
  const sent = await client.sendCommand({ device_id, body, idempotencyKey: key })
  if (wait !== undefined) await noteIfOffline({ cli, client }, device_id)
  const ended = wait === undefined ? sent : await awaitEnd({ cli, client }, sent, wait)
  cli.output.item(ended, FIELDS)
  if (wait !== undefined) failUnlessCompleted(ended)
}

/** Tells the user if the device is offline, because the wait may be long. The command is sent, so nothing here ends the wait. */
async function noteIfOffline({ cli, client }: CommandConnection, deviceId: string): Promise<void> {
  const device = await client.getDevice({ device_id: deviceId }).catch(() => undefined)
  if (device === undefined || device.connectivity.connected) return
  const { status, last_seen_at: seenAt } = device
  const seen = seenAt === null ? 'has never connected' : `was last heard at ${seenAt}`
  cli.output.note(
    `${deviceId} is ${status} and not connected: it ${seen}; the command waits until it expires`,
  )
}

async function awaitEnd(
  { cli, client }: CommandConnection,
  sent: CommandBody,
  wait: number | true,
): Promise<CommandBody> {
  const { device_id, command_id: cmd_id } = sent
  const deadline = wait === true ? Number.POSITIVE_INFINITY : performance.now() + wait * 1000
  let seen = sent
  while (OPEN.has(seen.status) && performance.now() < deadline) {
    const leftSec = Math.ceil((deadline - performance.now()) / 1000)
    const percent = seen.progress === null ? '' : ` ${seen.progress} %`
    cli.output.progress(`${cmd_id}: ${seen.status}${percent}`)
    const query = { wait: Math.min(POLL_SEC, leftSec) }
    seen = await patiently(cli, () => client.getCommand({ device_id, cmd_id, query }), deadline)
  }
  cli.output.progress(undefined)
  return seen
}

function failUnlessCompleted({ command_id, status, error }: CommandBody): void {
  if (status === 'completed') return
  if (OPEN.has(status))
    throw new Failure(
      EXIT.unfinished,
      `${command_id} is still ${status}; run \`fleet cmd get\` later to see how it ends`,
    )
  throw new Failure(
    EXIT.failed,
    `${command_id} ended with status ${status}${error === null ? '' : `: ${error.message}`}`,
  )
}

interface ListOptions extends TargetOptions {
  readonly status?: string[]
  readonly limit: number
}

function list(cmdCommand: Command, cli: Cli): void {
  const command = withSelector(
    cmdCommand
      .command('list')
      .description('list the open commands of devices and the latest finished ones')
      .argument(...IDS_ARGUMENT),
  ).option(...LIMIT_OPTION)
  command.addOption(
    command
      .createOption('--status <statuses...>', 'only commands with these statuses')
      .choices(COMMAND_STATUSES),
  )
  command.action(async (ids: readonly string[], options: ListOptions) => {
    const { status, limit } = options
    const query = { per_page: pageSize(limit), ...definedFields({ status }) }
    await listOfDevices(cli, targetsOf(command, ids, options), {
      limit,
      pages: (client, device_id) => client.pages.listCommands({ device_id, query }),
      columns: [
        ['ID', ({ command_id }) => command_id],
        ['COMMAND', (found) => found.command],
        ['STATUS', (found) => found.status],
        ['PRIORITY', ({ priority }) => priority],
        ['CREATED', ({ created_at }) => created_at],
        ['DATA', ({ data }) => data],
      ],
    })
  })
}

function get(command: Command, cli: Cli): void {
  command
    .command('get')
    .description('show a command')
    .argument(...DEVICE_ARGUMENT)
    .argument('<command_id>', 'id of the command')
    .action(async (device_id: string, cmd_id: string) => {
      const { client } = await cli.connect()
      cli.output.item(await client.getCommand({ device_id, cmd_id }), FIELDS)
    })
}

function cancel(command: Command, cli: Cli): void {
  command
    .command('cancel')
    .description('cancel a command that is not finished')
    .argument(...DEVICE_ARGUMENT)
    .argument('<command_id>', 'id of the command')
    .action(async (device_id: string, cmd_id: string) => {
      const { client } = await cli.connect()
      cli.output.item(await client.cancelCommand({ device_id, cmd_id }), FIELDS)
    })
}
