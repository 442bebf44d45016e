// `fleet broadcast`: one command for all devices of a group.
import { randomUUID } from 'node:crypto'
import { setTimeout as passes } from 'node:timers/promises'
import type { Command } from 'commander'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { addCommandOptions, type CommandOptions, toCommandBody } from '../command-options.ts'
import { EXIT, Failure } from '../failure.ts'
import type { Column } from '../output.ts'

export const broadcast: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet broadcast send warehouse/a stop --priority critical --wait\n' +
      '  fleet broadcast get bc_01jd0c3k9x7m2v5t8r4q6w1z0y\n',
  )
  send(command, cli)
  get(command, cli)
  cancel(command, cli)
}

interface State {
  readonly broadcast_id: string
  readonly group: string
  readonly command: string
  readonly status: string
  readonly total: number
  readonly accepted: number
  readonly skipped: readonly { readonly device_id: string; readonly reason: string }[]
  readonly counts?: Readonly<Record<string, number>>
}

const FIELDS: readonly Column<State>[] = [
  ['broadcast_id', ({ broadcast_id }) => broadcast_id],
  ['group', ({ group }) => group],
  ['command', (state) => state.command],
  ['status', ({ status }) => status],
  ['devices', ({ total }) => total],
  ['accepted', ({ accepted }) => accepted],
  ['skipped', ({ skipped }) => skipped.map(({ device_id, reason }) => `${device_id} (${reason})`)],
  ['counts', ({ counts }) => (counts === undefined ? undefined : countsText(counts))],
]

const countsText = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([status, count]) => `${count} ${status}`)
    .join(', ')

const LOOK_EVERY_MS = 1_000
const OPEN: ReadonlySet<string> = new Set(['pending', 'in_progress'])

function send(broadcastCommand: Command, cli: Cli): void {
  const command = broadcastCommand
    .command('send')
    .description('send a command to every device of a group and its subgroups')
    .argument('<group>', 'group, such as warehouse/a')
  addCommandOptions(command)
    .option('--wait', 'wait until every device has finished')
    .option('--key <key>', 'idempotency key: repeating it sends the broadcast only once (default: random)')
    .action(async (group: string, name: string, data: JsonObject | undefined, options: SendOptions) => {
      const { client } = await cli.connect()
      const body = { group, ...toCommandBody(name, data, options) }
      const sent = await client.broadcastCommand({ body, idempotencyKey: options.key ?? randomUUID() })
      if (options.wait !== true) return cli.output.item<State>(sent, FIELDS)
      const broadcast_id = sent.broadcast_id
      for (;;) {
        const state = await client.getBroadcast({ broadcast_id, query: { per_page: 1 } })
        if (!OPEN.has(state.status)) {
          cli.output.progress(undefined)
          cli.output.item<State>(state, FIELDS)
          if (state.status === 'completed') return
          throw new Failure(EXIT.failed, `${broadcast_id} ended with status ${state.status}`)
        }
        cli.output.progress(`${broadcast_id}: ${countsText(state.counts)}`)
        await passes(LOOK_EVERY_MS, undefined, { signal: cli.signal })
      }
    })
}

interface SendOptions extends CommandOptions {
  readonly wait?: boolean
  readonly key?: string
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
