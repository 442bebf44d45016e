// `fleet alerts`: lists and handles alerts.
import type { Command } from 'commander'
import type { Static } from 'typebox'
import { ALERT_SNOOZE_SEC_MAX, type AlertBody as AlertSchema } from '../../../schemas/alert.ts'
import { ALERT_SEVERITIES, type AlertSeverity } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { EXIT, Failure } from '../failure.ts'
import { wholeNumber } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'

type AlertBody = Static<typeof AlertSchema>

const ALERT_COLUMNS: readonly Column<AlertBody>[] = [
  ['ID', ({ alert_id }) => alert_id],
  ['SEVERITY', ({ severity }) => severity],
  ['STATE', ({ state }) => state],
  ['DEVICE', ({ device_id, group }) => device_id ?? group ?? 'fleet'],
  ['RULE', ({ rule_name }) => rule_name],
  ['VALUE', ({ value }) => value],
  ['FIRED', ({ fired_at }) => fired_at],
  ['ASSIGNEE', ({ assignee }) => assignee],
]
const ALERT_ARGUMENT = ['<alert_id>', 'id of the alert, from `fleet alerts list`'] as const

export const alerts: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet alerts list --severity critical\n  fleet alerts ack alt_… --comment "on my way"\n' +
      '  fleet alerts assign alt_… --me\n  fleet alerts resolve alt_… --snooze-sec 3600\n',
  )
  listAlerts(command, cli)
  command
    .command('show')
    .description('show an alert with its moves')
    .argument(...ALERT_ARGUMENT)
    .action(async (alert_id: string) => {
      const { client } = await cli.connect()
      cli.output.item(await client.getAlert({ alert_id }))
    })
  command
    .command('ack')
    .description('acknowledge an alert: no more reminders of it are sent')
    .argument(...ALERT_ARGUMENT)
    .option('--comment <text>', 'what you know of it')
    .action(async (alert_id: string, { comment }: { comment?: string }) => {
      const { client } = await cli.connect()
      cli.output.list([await client.ackAlert({ alert_id, body: definedFields({ comment }) })], ALERT_COLUMNS)
    })
  command
    .command('unack')
    .description('withdraw an acknowledgement: reminders are sent again')
    .argument(...ALERT_ARGUMENT)
    .action(async (alert_id: string) => {
      const { client } = await cli.connect()
      cli.output.list([await client.unackAlert({ alert_id })], ALERT_COLUMNS)
    })
  assign(command, cli)
  command
    .command('resolve')
    .description('resolve an alert by hand')
    .argument(...ALERT_ARGUMENT)
    .option('--comment <text>', 'what you did')
    .option(
      '--snooze-sec <seconds>',
      'time for which the rule raises no new alert',
      wholeNumber(0, 2_592_000),
    )
    .action(async (alert_id: string, { comment, snoozeSec }: { comment?: string; snoozeSec?: number }) => {
      const { client } = await cli.connect()
      const body = definedFields({ comment, snooze_sec: snoozeSec })
      cli.output.list([await client.resolveAlert({ alert_id, body })], ALERT_COLUMNS)
    })
  command
    .command('snooze')
    .description('send no reminders of an alert for a time')
    .argument(...ALERT_ARGUMENT)
    .requiredOption('--for-sec <seconds>', 'how long', wholeNumber(1, ALERT_SNOOZE_SEC_MAX))
    .action(async (alert_id: string, { forSec }: { forSec: number }) => {
      const { client } = await cli.connect()
      cli.output.list([await client.snoozeAlert({ alert_id, body: { for_sec: forSec } })], ALERT_COLUMNS)
    })
  command
    .command('unsnooze')
    .description('end the snooze of an alert')
    .argument(...ALERT_ARGUMENT)
    .action(async (alert_id: string) => {
      const { client } = await cli.connect()
      cli.output.list([await client.unsnoozeAlert({ alert_id })], ALERT_COLUMNS)
    })
  command
    .command('comment')
    .description('comment on an alert')
    .argument(...ALERT_ARGUMENT)
    .argument('<text>', 'the comment')
    .action(async (alert_id: string, text: string) => {
      const { client } = await cli.connect()
      cli.output.list([await client.commentAlert({ alert_id, body: { text } })], ALERT_COLUMNS)
    })
}

interface ListOptions {
  readonly severity?: AlertSeverity[]
  readonly state?: string
  readonly device?: string
  readonly group?: string
  readonly limit: number
}

function listAlerts(command: Command, cli: Cli): void {
  const list = command
    .command('list')
    .description('list alerts, by default the open ones')
    .option('--state <states>', 'states with commas between them, such as firing,resolved')
    .option('--device <device_id>', 'only alerts of this device')
    .option('--group <group>', 'only of devices in this group and below it')
    .option(...LIMIT_OPTION)
  list.addOption(list.createOption('--severity <severities...>', 'only of these').choices(ALERT_SEVERITIES))
  list.action(async ({ severity, state, device, group, limit }: ListOptions) => {
    const { client } = await cli.connect()
    const query = {
      per_page: pageSize(limit),
      ...definedFields({ severity: severity?.join(','), state, device_id: device, group }),
    }
    await cli.output.listFirst(client.pages.listAlerts({ query }), limit, ALERT_COLUMNS)
  })
}

function assign(command: Command, cli: Cli): void {
  command
    .command('assign')
    .description('assign an alert to a user')
    .argument(...ALERT_ARGUMENT)
    .argument('[user_id]', 'id of the user, from `fleet users list`')
    .option('--me', 'assign it to yourself')
    .option('--nobody', 'remove the current assignee')
    .action(
      async (alert_id: string, userId: string | undefined, { me, nobody }: { me?: true; nobody?: true }) => {
        if ([userId, me, nobody].filter((choice) => choice !== undefined).length !== 1)
          throw new Failure(EXIT.usage, 'name the user: pass the id of a user, --me or --nobody')
        const { client } = await cli.connect()
        const user_id = me === true ? (await client.me()).id : (userId ?? null)
        cli.output.list([await client.assignAlert({ alert_id, body: { user_id } })], ALERT_COLUMNS)
      },
    )
}
