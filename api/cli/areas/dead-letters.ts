// `fleet dead-letters`: messages of devices that could not be processed, with the reason.
import type { Command } from 'commander'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { followDeadLetters } from '../follow-dead-letters.ts'
import { instant, YES_OPTION } from '../option-parsers.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'
import { confirm } from '../prompt.ts'

interface Options {
  readonly device?: string
  readonly reason?: string
  readonly follow?: boolean
  readonly limit: number
}

const DEVICE = ['--device <device_id>', 'only messages of this device'] as const
const REASON = ['--reason <reason>', 'only messages with this reason'] as const

export const deadLetters: Area = (command, cli) => {
  command
    .option(...DEVICE)
    .option(...REASON)
    .option(...LIMIT_OPTION)
    .option('--follow', 'keep printing new messages as they arrive, until Ctrl-C (for admins)')
    .addHelpText(
      'after',
      '\nExamples:\n  fleet dead-letters --device robot-7 --reason MALFORMED_STATUS\n  fleet dead-letters --follow\n  fleet dead-letters summary\n' +
        '  fleet dead-letters replay --reason MALFORMED_STATUS\n  fleet dead-letters discard --before 7d\n',
    )
    .action(async ({ device, reason, limit, follow = false }: Options) => {
      if (follow) return await followDeadLetters(cli, { device, reason, recent: pageSize(limit) })
      const { client } = await cli.connect()
      const query = { per_page: pageSize(limit), ...definedFields({ device_id: device, reason }) }
      await cli.output.listFirst(client.pages.listDeadLetters({ query }), limit, [
        ['TIME', ({ received_at }) => received_at],
        ['DEVICE', ({ device_id }) => device_id],
        ['TOPIC', ({ topic }) => topic],
        ['REASON', ({ reason }) => reason],
        ['DETAIL', ({ detail }) => detail],
        ['PAYLOAD', ({ payload }) => payload],
      ])
    })
  summary(command, cli)
  actOnMany(command, cli, { name: 'replay', description: 'process messages once more, the oldest first' })
  actOnMany(command, cli, { name: 'discard', description: 'remove messages; this cannot be undone' })
}

function summary(command: Command, cli: Cli): void {
  command
    .command('summary')
    .description('count the messages by reason')
    .action(async (_: object, { parent }: Command) => {
      const { client } = await cli.connect()
      const query = definedFields({ device_id: parent?.opts<Options>().device })
      const { data } = await client.summarizeDeadLetters({ query })
      cli.output.list(data, [
        ['REASON', ({ reason }) => reason],
        ['COUNT', ({ count }) => count],
        ['DEVICES', ({ devices }) => devices],
        ['OLDEST', ({ oldest_at }) => oldest_at],
        ['NEWEST', ({ newest_at }) => newest_at],
      ])
    })
}

interface ManyOptions {
  readonly before?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/** The options of `dead-letters` itself may be given before or after the name of the command. */
function actOnMany(
  command: Command,
  cli: Cli,
  { name, description }: { readonly name: 'replay' | 'discard'; readonly description: string },
): void {
  command
    .command(name)
    .description(description)
    .option('--before <when>', 'only messages received before this time', (text: string) => instant(text))
    .option('--dry-run', 'only count')
    .option(...YES_OPTION)
    .action(async ({ before, dryRun, yes }: ManyOptions, { parent }: Command) => {
      const { client } = await cli.connect()
      const { device, reason } = parent?.opts<Partial<Options>>() ?? {}
      const body = definedFields({ device_id: device, reason, before })
      const act = (query: { readonly dry_run?: boolean }) =>
        name === 'replay'
          ? client.replayDeadLetters({ query, body })
          : client.discardDeadLetters({ query, body })
      const preview = await act({ dry_run: true })
      if (dryRun === true || preview.done === 0) return cli.output.item(preview)
      await confirm(`${name === 'replay' ? 'Replay' : 'Discard'} ${preview.done} dead letters?`, yes)
      cli.output.item(await act({}))
    })
}
