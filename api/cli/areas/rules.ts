// `fleet rules`: the rules that raise alerts.
import type { Command } from 'commander'
import type {
  ReplaceRuleBody,
  RuleBody,
  RuleRequestBody,
  RuleTestResult,
} from '../../../schemas/alert-rule.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { addDelete } from '../delete-command.ts'
import { ifUnchanged } from '../if-unchanged.ts'
import { FROM_OPTION, readJsonFile, TO_OPTION } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'

const RULE_COLUMNS: readonly Column<RuleBody>[] = [
  ['ID', ({ rule_id }) => rule_id],
  ['NAME', ({ name }) => name],
  ['SEVERITY', ({ severity }) => severity],
  ['ENABLED', ({ enabled }) => enabled],
  ['FIRING', ({ state }) => state.firing],
]
const EPISODE_COLUMNS: readonly Column<RuleTestResult['episodes'][number]>[] = [
  ['DEVICE', ({ device_id }) => device_id],
  ['FIRED', ({ fired_at }) => fired_at],
  ['RESOLVED', ({ resolved_at }) => resolved_at],
  ['PEAK', ({ peak }) => peak],
  ['COUNT', ({ count }) => count],
]
const RULE_ARGUMENT = ['<rule_id>', 'id of the rule, from `fleet rules list`'] as const

export const rules: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet rules list\n  fleet rules test battery-low.json --from -24h\n' +
      '  fleet rules create battery-low.json\n  fleet rules show rul_… --json > rule.json\n' +
      '  fleet rules edit rul_… rule.json\n',
  )
  command
    .command('list')
    .description('list the rules of alerts')
    .option(...LIMIT_OPTION)
    .action(async ({ limit }: { limit: number }) => {
      const { client } = await cli.connect()
      const pages = client.pages.listAlertRules({ query: { per_page: pageSize(limit) } })
      await cli.output.listFirst(pages, limit, RULE_COLUMNS)
    })
  command
    .command('show')
    .description('show a rule')
    .argument(...RULE_ARGUMENT)
    .action(async (rule_id: string) => {
      const { client } = await cli.connect()
      cli.output.item(await client.getAlertRule({ rule_id }))
    })
  command
    .command('create')
    .description('create a rule')
    .argument('<file>', 'file with the rule as JSON')
    .action(async (file: string) => {
      const { client } = await cli.connect()
      cli.output.list(
        [await client.createAlertRule({ body: readJsonFile<RuleRequestBody>(file) })],
        RULE_COLUMNS,
      )
    })
  command
    .command('edit')
    .description('replace a rule by the one in a file, such as what `show --json` printed, changed')
    .argument(...RULE_ARGUMENT)
    .argument('<file>', 'file with the whole rule as JSON')
    .action(async (rule_id: string, file: string) => {
      const { client } = await cli.connect()
      const body = readJsonFile<ReplaceRuleBody>(file)
      cli.output.list([await client.replaceAlertRule({ rule_id, body, ...ifUnchanged(body) })], RULE_COLUMNS)
    })
  testRule(command, cli)
  for (const enabled of [true, false])
    command
      .command(enabled ? 'enable' : 'disable')
      .description(enabled ? 'judge by a rule again' : 'stop judging by a rule, and resolve its alerts')
      .argument(...RULE_ARGUMENT)
      .action(async (rule_id: string) => {
        const { client } = await cli.connect()
        cli.output.list([await client.editAlertRule({ rule_id, body: { enabled } })], RULE_COLUMNS)
      })
  addDelete(command, cli, {
    description: 'delete a rule, and resolve its alerts',
    argument: RULE_ARGUMENT,
    remove: (client, rule_id) => client.deleteAlertRule({ rule_id }),
  })
}

interface TestOptions {
  readonly from: string
  readonly to?: string
  readonly device?: string[]
}

function testRule(command: Command, cli: Cli): void {
  command
    .command('test')
    .description('try a rule on past data: which alerts it would have raised. Nothing is stored or sent')
    .argument('<file>', 'file with the rule as JSON')
    .requiredOption(...FROM_OPTION)
    .option(...TO_OPTION)
    .option('--device <device_ids...>', 'only these devices (default: up to 100 of the target)')
    .action(async (file: string, { from, to, device }: TestOptions) => {
      const { client } = await cli.connect()
      const rule = readJsonFile<RuleRequestBody>(file)
      const tested = await client.testAlertRule({
        body: { rule, from, ...definedFields({ to, device_ids: device }) },
      })
      if (cli.output.isJson) {
        cli.output.item(tested)
        return
      }
      cli.output.list(tested.episodes, EPISODE_COLUMNS)
      const { episodes, devices, points, notifications, truncated } = tested
      cli.output.note(
        `${episodes.length} alerts and ${notifications} notifications, from ${points} points of ${devices} devices` +
          (truncated ? '; there are more than these' : ''),
      )
    })
}
