// `fleet channels`: where alert notifications are sent, managed by admins.
import type { Command } from 'commander'
import type { ChannelBody, DeliveryBody } from '../../../schemas/alert-channel.ts'
import { ALERT_SEVERITIES, CHAT_FORMATS, type ChatFormat } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { EXIT, Failure } from '../failure.ts'
import { readText, YES_OPTION } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'
import { confirm } from '../prompt.ts'
import { CHANNEL_ARGUMENT, editChannel, type SharedOptions } from './channel-edits.ts'

const COLUMNS: readonly Column<ChannelBody>[] = [
  ['ID', ({ channel_id }) => channel_id],
  ['NAME', ({ name }) => name],
  ['TYPE', ({ type }) => type],
  ['SEVERITY', ({ severity }) => severity],
  ['STATE', ({ state }) => state],
]
const DELIVERY_COLUMNS: readonly Column<DeliveryBody>[] = [
  ['AT', ({ created_at }) => created_at],
  ['EVENT', ({ event }) => event],
  ['STATE', ({ state }) => state],
  ['ALERTS', ({ alert_ids }) => alert_ids.length],
  ['TRIES', ({ attempts }) => attempts.length],
  ['LAST ERROR', ({ attempts }) => attempts.at(-1)?.error_code ?? null],
  ['ID', ({ delivery_id }) => delivery_id],
]

const NEW_SECRET: readonly Column<ChannelBody>[] = [
  ['channel_id', ({ channel_id }) => channel_id],
  ['type', ({ type }) => type],
  // Only webhooks have a secret, which is shown only now.
  ['secret', ({ secret }) => secret],
]

export const channels: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet channels add-chat https://hooks.slack.com/services/… --severity critical --default\n' +
      '  fleet channels add-webhook https://example.com/alerts --template body.json\n  fleet channels test ch_…\n' +
      '  fleet channels edit ch_… --disable\n  fleet channels rotate-secret ch_…\n',
  )
  list(command, cli)
  show(command, cli)
  add(command, cli)
  editChannel(command, cli)
  rotateSecret(command, cli)
  test(command, cli)
  deliveries(command, cli)
  redeliver(command, cli)
  remove(command, cli)
}

function list(command: Command, cli: Cli): void {
  command
    .command('list')
    .description('list channels, newest first')
    .option(...LIMIT_OPTION)
    .action(async ({ limit }: { limit: number }) => {
      const { client } = await cli.connect()
      await cli.output.listFirst(
        client.pages.listChannels({ query: { per_page: pageSize(limit) } }),
        limit,
        COLUMNS,
      )
    })
}

function show(command: Command, cli: Cli): void {
  command
    .command('show')
    .description('show a channel; its secrets are masked')
    .argument(...CHANNEL_ARGUMENT)
    .action(async (channel_id: string) => {
      const { client } = await cli.connect()
      cli.output.item(await client.getChannel({ channel_id }))
    })
}

function addSharedOptions(command: Command): Command {
  return command
    .option('--name <name>', 'name of the channel')
    .addOption(
      command.createOption('--severity <severities...>', 'tell only of these').choices(ALERT_SEVERITIES),
    )
    .option('--default', 'use the channel for rules that name no channels')
    .option('--group <group>', 'send only alerts of devices in this group and below it')
}

function add(parent: Command, cli: Cli): void {
  const create = async (body: Parameters<typeof sharedBody>[1], options: SharedOptions) => {
    const { client } = await cli.connect()
    cli.output.item(await client.createChannel({ body: sharedBody(options, body) }), NEW_SECRET)
  }
  const chat = addSharedOptions(parent.command('add-chat'))
    .description('send messages to a chat, through its incoming webhook')
    .argument('<webhook_url>', 'address that the chat gave, which is a secret')
    .option('--channel <channel>', 'channel of the chat, such as #ops')
  chat.addOption(chat.createOption('--format <format>', 'form of the messages').choices(CHAT_FORMATS))
  chat.action(
    async (
      webhook_url: string,
      { channel, format, ...options }: SharedOptions & { channel?: string; format?: ChatFormat },
    ) => {
      await create({ type: 'chat_webhook', webhook_url, ...definedFields({ channel, format }) }, options)
    },
  )
  addSharedOptions(parent.command('add-webhook'))
    .description('send each message, signed, to an address of yours')
    .argument('<url>', 'address to send to')
    .option('--template <file>', 'file with the body as JSON, with placeholders such as {{alert.message}}')
    .action(async (url: string, { template, ...options }: SharedOptions & { template?: string }) => {
      const text = template === undefined ? undefined : readText(template)
      await create({ type: 'webhook', url, ...definedFields({ template: text }) }, options)
    })
  addSharedOptions(parent.command('add-email'))
    .description('send e-mail through the mail server of the service')
    .argument('<to...>', 'addresses to write to')
    .action(async (to: string[], options: SharedOptions) => {
      await create({ type: 'email', to }, options)
    })
}

type Target =
  | {
      readonly type: 'chat_webhook'
      readonly webhook_url: string
      readonly channel?: string
      readonly format?: ChatFormat
    }
  | { readonly type: 'webhook'; readonly url: string; readonly template?: string }
  | { readonly type: 'email'; readonly to: string[] }

function sharedBody({ name, severity, default: isDefault, group }: SharedOptions, target: Target) {
  return { ...target, ...definedFields({ name, severity, default: isDefault, group }) }
}

function rotateSecret(command: Command, cli: Cli): void {
  command
    .command('rotate-secret')
    .description(
      'give a webhook a new secret, which is shown only once; for 24 hours messages are also signed with the one before',
    )
    .argument(...CHANNEL_ARGUMENT)
    .action(async (channel_id: string) => {
      const { client } = await cli.connect()
      cli.output.item(await client.rotateChannelSecret({ channel_id }), NEW_SECRET)
    })
}

function test(command: Command, cli: Cli): void {
  command
    .command('test')
    .description('send a sample to a channel and show what came of it')
    .argument(...CHANNEL_ARGUMENT)
    .action(async (channel_id: string) => {
      const { client } = await cli.connect()
      const tested = await client.testChannel({ channel_id })
      cli.output.item(tested, [
        ['delivered', ({ delivered }) => delivered],
        ['status_code', ({ status_code }) => status_code],
        ['latency_ms', ({ latency_ms }) => latency_ms],
        ['error', ({ error }) => error?.message],
      ])
      if (!tested.delivered) throw new Failure(EXIT.failed, 'the sample was not delivered')
    })
}

function deliveries(command: Command, cli: Cli): void {
  command
    .command('deliveries')
    .description('list what was sent to a channel, newest first')
    .argument(...CHANNEL_ARGUMENT)
    .option(...LIMIT_OPTION)
    .action(async (channel_id: string, { limit }: { limit: number }) => {
      const { client } = await cli.connect()
      const pages = client.pages.listDeliveries({ channel_id, query: { per_page: pageSize(limit) } })
      await cli.output.listFirst(pages, limit, DELIVERY_COLUMNS)
    })
}

function redeliver(command: Command, cli: Cli): void {
  command
    .command('redeliver')
    .description('send a message once more, under the same id')
    .argument('<delivery_id>', 'id of the delivery, from `fleet channels deliveries`')
    .action(async (delivery_id: string) => {
      const { client } = await cli.connect()
      cli.output.list([await client.redeliver({ delivery_id })], DELIVERY_COLUMNS)
    })
}

function remove(command: Command, cli: Cli): void {
  command
    .command('delete')
    .description('delete a channel')
    .argument(...CHANNEL_ARGUMENT)
    .option('--force', 'even if rules name it')
    .option(...YES_OPTION)
    .action(async (channel_id: string, { force, yes }: { force?: boolean; yes?: boolean }) => {
      const { client } = await cli.connect()
      await confirm(`Delete ${channel_id}?`, yes)
      await client.deleteChannel({ channel_id, query: definedFields({ force }) })
      cli.output.note(`deleted ${channel_id}`)
    })
}
