// `fleet cmd`: commands to one device.
import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import type { Client } from '../../../schemas/client.ts'
import type { CommandBody } from '../../../schemas/command.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { COMMAND_STATUSES, type CommandStatus } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { addCommandOptions, type CommandOptions, toCommandBody } from '../command-options.ts'
import { EXIT, Failure } from '../failure.ts'
import { wholeNumber } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize, take } from '../paged.ts'

const WAIT_SEC_MAX = 7 * 86_400
/** Asked again so often, for the status to be shown on its way. */
const LOOK_SEC = 2
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
      '  fleet cmd list robot-7 --status pending\n\n' +
      'With --wait, a command that does not complete ends with exit code 1, one that is still open with 7.\n',
  )
  send(command, cli)
  list(command, cli)
  get(command, cli)
  cancel(command, cli)
}

interface SendOptions extends CommandOptions {
  /** `true` is until it ends. */
  readonly wait?: number | true
  readonly key?: string
}

function send(cmdCommand: Command, cli: Cli): void {
  const command = cmdCommand
    .command('send')
    .description('send a command')
    .argument('<device_id>', 'the id of the device')
  addCommandOptions(command)
    .option('--wait [seconds]', 'wait until it ends, or for so long', wholeNumber(1, WAIT_SEC_MAX))
    .option('--key <key>', 'the same key sends the command once; made up if left out')
    .action(async (deviceId: string, name: string, data: JsonObject | undefined, options: SendOptions) => {
      const { client } = await cli.connect()
      const { key = randomUUID(), wait } = options
      const body = toCommandBody(name, data, options)
      const sent = await client.sendCommand({ device_id: deviceId, body, idempotencyKey: key })
      const ended = wait === undefined ? sent : await awaitEnd({ cli, client }, sent, wait)
      cli.output.item(ended, FIELDS)
      if (wait !== undefined) judge(ended)
    })
}

async function awaitEnd(
  { cli, client }: { readonly cli: Cli; readonly client: Client },
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
    seen = await client.getCommand({ device_id, cmd_id, query: { wait: Math.min(LOOK_SEC, leftSec) } })
  }
  cli.output.progress(undefined)
  return seen
}

function judge({ command_id, status, error }: CommandBody): void {
  if (status === 'completed') return
  if (OPEN.has(status))
    throw new Failure(
      EXIT.unfinished,
      `${command_id} is still ${status}; \`fleet cmd get\` shows what becomes of it`,
    )
  throw new Failure(EXIT.failed, `${command_id} has ${status}${error === null ? '' : `: ${error.message}`}`)
}

function list(cmdCommand: Command, cli: Cli): void {
  const command = cmdCommand
    .command('list')
    .description('the open commands of a device and the latest finished ones')
    .argument('<device_id>', 'the id of the device')
    .option(...LIMIT_OPTION)
  command.addOption(
    command.createOption('--status <statuses...>', 'in these statuses').choices(COMMAND_STATUSES),
  )
  command.action(async (deviceId: string, { status, limit }: { status?: string[]; limit: number }) => {
    const { client } = await cli.connect()
    const query = { per_page: pageSize(limit), ...(status === undefined ? {} : { status }) }
    const { items } = await take(client.pages.listCommands({ device_id: deviceId, query }), limit)
    cli.output.list(items, [
      ['ID', ({ command_id }) => command_id],
      ['COMMAND', (found) => found.command],
      ['STATUS', (found) => found.status],
      ['PRIORITY', ({ priority }) => priority],
      ['CREATED', ({ created_at }) => created_at],
      ['DATA', ({ data }) => data],
    ])
  })
}

function get(command: Command, cli: Cli): void {
  command
    .command('get')
    .description('what became of a command')
    .argument('<device_id>', 'the id of the device')
    .argument('<command_id>', 'the id of the command')
    .action(async (device_id: string, cmd_id: string) => {
      const { client } = await cli.connect()
      cli.output.item(await client.getCommand({ device_id, cmd_id }), FIELDS)
    })
}

function cancel(command: Command, cli: Cli): void {
  command
    .command('cancel')
    .description('cancel a command that is not finished')
    .argument('<device_id>', 'the id of the device')
    .argument('<command_id>', 'the id of the command')
    .action(async (device_id: string, cmd_id: string) => {
      const { client } = await cli.connect()
      cli.output.item(await client.cancelCommand({ device_id, cmd_id }), FIELDS)
    })
}
