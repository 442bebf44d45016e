// `fleet audit`: who did what.
import { AUDIT_OUTCOMES } from '../../../schemas/audit.ts'
import type { Area } from '../area.ts'
import { instant } from '../option-parsers.ts'
import { LIMIT_OPTION, pageSize, take } from '../paged.ts'

interface Options {
  readonly actor?: string
  readonly action?: string
  readonly target?: string
  readonly device?: string
  readonly outcome?: (typeof AUDIT_OUTCOMES)[number]
  readonly ip?: string
  readonly from?: string
  readonly to?: string
  readonly limit: number
}

export const audit: Area = (command, cli) => {
  command
    .option('--actor <who>', 'an id, or the e-mail of a user')
    .option('--action <name>', 'what was done, such as registerDevice')
    .option('--target <path>', 'to what, such as devices/robot-7')
    .option('--device <device_id>', 'all that is about a device')
    .option('--ip <address>', 'from where')
    .option('--from <when>', 'an instant, or how long ago: 15m, 2h, 7d', (text: string) => instant(text))
    .option('--to <when>', 'up to then', (text: string) => instant(text))
    .option(...LIMIT_OPTION)
    .addHelpText(
      'after',
      '\nExamples:\n  fleet audit --from 7d --outcome refused\n  fleet audit --device robot-7 --action sendCommand\n',
    )
  command.addOption(command.createOption('--outcome <outcome>', 'what came of it').choices(AUDIT_OUTCOMES))
  command.action(async ({ device, limit, ...filter }: Options) => {
    const { client } = await cli.connect()
    const query = {
      ...filter,
      limit: pageSize(limit),
      ...(device === undefined ? {} : { device_id: device }),
    }
    const { items, hasMore } = await take(client.pages.listAudit({ query }), limit)
    cli.output.list(items, [
      ['TIME', ({ at }) => at],
      ['WHO', ({ actor }) => actor.name ?? actor.id ?? actor.type],
      ['ACTION', ({ action }) => action],
      ['TARGET', ({ target }) => target],
      ['OUTCOME', ({ outcome }) => outcome],
      ['CODE', ({ code }) => code],
      ['IP', ({ ip }) => ip],
      ['COUNT', ({ count }) => count],
    ])
    if (hasMore) cli.output.note(`the newest ${limit}; --limit shows more`)
  })
}
