// `fleet dead-letters`: messages of devices that could not be processed, with the reason.
import type { Area } from '../area.ts'
import { given } from '../given.ts'
import { LIMIT_OPTION, pageSize, take } from '../paged.ts'

interface Options {
  readonly device?: string
  readonly reason?: string
  readonly limit: number
}

export const deadLetters: Area = (command, cli) => {
  command
    .option('--device <device_id>', 'only messages of this device')
    .option('--reason <reason>', 'only messages with this reason')
    .option(...LIMIT_OPTION)
    .addHelpText('after', '\nExample:\n  fleet dead-letters --device robot-7 --reason not_json\n')
    .action(async ({ device, reason, limit }: Options) => {
      const { client } = await cli.connect()
      const query = { per_page: pageSize(limit), ...given({ device_id: device, reason }) }
      const { items, hasMore } = await take(client.pages.listDeadLetters({ query }), limit)
      cli.output.list(items, [
        ['TIME', ({ received_at }) => received_at],
        ['DEVICE', ({ device_id }) => device_id],
        ['TOPIC', ({ topic }) => topic],
        ['REASON', ({ reason }) => reason],
        ['DETAIL', ({ detail }) => detail],
        ['PAYLOAD', ({ payload }) => payload],
      ])
      if (hasMore) cli.output.note(`only the newest ${limit} are shown; use --limit to see more`)
    })
}
