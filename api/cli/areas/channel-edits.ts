// `fleet channels edit`: options for frequent changes, and a file for everything.
import type { Command } from 'commander'
import type { EditChannelBody } from '../../../schemas/alert-channel.ts'
import { ALERT_SEVERITIES, type AlertSeverity } from '../../../schemas/vocabulary.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { EXIT, Failure } from '../failure.ts'
import { ifUnchanged } from '../if-unchanged.ts'
import { readJsonFile, readText } from '../option-parsers.ts'

export const CHANNEL_ARGUMENT = ['<channel_id>', 'id of the channel, from `fleet channels list`'] as const

/** The options of a new channel and of an edit. */
export interface SharedOptions {
  readonly name?: string
  readonly severity?: AlertSeverity[]
  readonly default?: boolean
  readonly group?: string
}

interface EditOptions extends SharedOptions {
  readonly allGroups?: true
  readonly enable?: true
  readonly disable?: true
  readonly address?: string
  readonly template?: string
  readonly to?: string[]
  readonly fallback?: string
}

export function editChannel(parent: Command, cli: Cli): void {
  const command = parent
    .command('edit')
    .description('change a channel; fields that are not given stay as they are')
    .argument(...CHANNEL_ARGUMENT)
    .argument(
      '[file]',
      'JSON with the fields to change, - for standard input; such as what `show --json` printed, changed',
    )
    .option('--name <name>', 'name of the channel')
    .option('--default', 'use the channel for rules that name no channels')
    .option('--no-default', 'use the channel only for rules that name it')
    .option('--group <group>', 'send only alerts of devices in this group and below it')
    .option('--disable', 'tell it nothing')
    .option('--address <url>', 'new address of a chat, which is a secret, or of a webhook')
    .option('--template <file>', 'file with the body of a webhook as JSON, with placeholders')
    .option('--to <to...>', 'new addresses of mail')
    .option('--fallback <channel_id>', 'channel to notify when this one cannot be reached')
    .addHelpText(
      'after',
      '\nExamples:\n  fleet channels edit ch_… --severity critical --no-default\n' +
        '  fleet channels show ch_… --json > channel.json\n  fleet channels edit ch_… channel.json\n',
    )
  for (const option of [
    command.createOption('--all-groups', 'send alerts of devices of all groups').conflicts('group'),
    command
      .createOption('--enable', 'use the channel again, also after its address was gone')
      .conflicts('disable'),
    command.createOption('--severity <severities...>', 'tell only of these').choices(ALERT_SEVERITIES),
  ])
    command.addOption(option)
  command.action(async (channel_id: string, file: string | undefined, options: EditOptions) => {
    const named = { ...(file === undefined ? {} : readJsonFile<EditChannelBody>(file)), ...changes(options) }
    const { address } = options
    if (Object.keys(named).length === 0 && address === undefined)
      throw new Failure(EXIT.usage, 'nothing to change; see --help for the options, or name a file')
    const { client } = await cli.connect()
    const isChat = address !== undefined && (await client.getChannel({ channel_id })).type === 'chat_webhook'
    const body = { ...named, ...definedFields(isChat ? { webhook_url: address } : { url: address }) }
    cli.output.item(await client.editChannel({ channel_id, body, ...ifUnchanged(named) }))
  })
}

function changes(options: EditOptions): EditChannelBody {
  const { name, severity, group, allGroups, enable, disable, template, to, fallback } = options
  return definedFields({
    ...{ name, severity, default: options.default, to },
    group: allGroups === true ? null : group,
    enabled: enable ?? (disable === true ? false : undefined),
    template: template === undefined ? undefined : readText(template),
    fallback_channel_id: fallback,
  })
}
