// `fleet silences`: periods in which alerts are raised but nobody is notified.
import type { Command } from 'commander'
import type { Static } from 'typebox'
import type { SilenceBody as SilenceSchema } from '../../../schemas/alert.ts'
import { ALERT_SEVERITIES, type AlertSeverity } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { EXIT, Failure } from '../failure.ts'
import { wholeNumber } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'

type SilenceBody = Static<typeof SilenceSchema>

const COLUMNS: readonly Column<SilenceBody>[] = [
  ['ID', ({ silence_id }) => silence_id],
  ['STATE', ({ state }) => state],
  ['MATCHERS', ({ matchers }) => matchersText(matchers)],
  ['ENDS', ({ ends_at }) => ends_at],
  ['COMMENT', ({ comment }) => comment],
]
const FOR_SEC_MAX = 31_536_000

export const silences: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet silences list --state active\n' +
      '  fleet silences create "rewiring hall 2" --group warehouse/a --for-sec 7200\n  fleet silences end sil_…\n',
  )
  command
    .command('list')
    .description('list silences, newest first')
    .option('--state <states>', 'states with commas between them: pending, active, expired')
    .option(...LIMIT_OPTION)
    .action(async ({ state, limit }: { state?: string; limit: number }) => {
      const { client } = await cli.connect()
      const query = { per_page: pageSize(limit), ...definedFields({ state }) }
      await cli.output.listFirst(client.pages.listSilences({ query }), limit, COLUMNS)
    })
  create(command, cli)
  command
    .command('end')
    .description('end a silence now: alerts that still fire are sent')
    .argument('<silence_id>', 'id of the silence, from `fleet silences list`')
    .action(async (silence_id: string) => {
      const { client } = await cli.connect()
      await client.deleteSilence({ silence_id })
      cli.output.note(`ended ${silence_id}`)
    })
}

interface CreateOptions {
  readonly forSec: number
  readonly rule?: string
  readonly device?: string
  readonly group?: string
  readonly type?: string
  readonly tag?: string
  readonly severity?: AlertSeverity[]
}

function create(parent: Command, cli: Cli): void {
  const command = parent
    .command('create')
    .description('send nothing for a time about the alerts that match all that is given')
    .argument('<comment>', 'reason, shown to whoever looks for these alerts')
    .requiredOption('--for-sec <seconds>', 'how long, from now on', wholeNumber(1, FOR_SEC_MAX))
    .option('--rule <rule_id>', 'alerts of this rule')
    .option('--device <device_id>', 'alerts of this device')
    .option('--group <group>', 'alerts of devices in this group and below it')
    .option('--type <type>', 'alerts of devices of this type')
    .option('--tag <tag>', 'alerts of devices with this tag')
  command.addOption(
    command.createOption('--severity <severities...>', 'alerts of these').choices(ALERT_SEVERITIES),
  )
  command.action(async (comment: string, options: CreateOptions) => {
    const { forSec, rule, device, group, type, tag, severity } = options
    const matchers = definedFields({ rule_id: rule, device_id: device, group, type, tag, severity })
    if (Object.keys(matchers).length === 0)
      throw new Failure(
        EXIT.usage,
        'say which alerts: with --rule, --device, --group, --type, --tag or --severity',
      )
    const { client } = await cli.connect()
    const ends_at = new Date(Date.now() + forSec * 1_000).toISOString()
    cli.output.list([await client.createSilence({ body: { matchers, ends_at, comment } })], COLUMNS)
  })
}

function matchersText(matchers: SilenceBody['matchers']): string {
  return Object.entries(matchers)
    .map(([name, value]) => `${name}=${Array.isArray(value) ? value.join(',') : value}`)
    .join(' ')
}
