// `fleet provisioning-keys`: keys with which devices register themselves, managed by admins.
import type { Command } from 'commander'
import type { ProvisioningClaimBody, ProvisioningKeyBody } from '../../../schemas/provisioning.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { addDelete } from '../delete-command.ts'
import { laterInstant, wholeNumber } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'

const COLUMNS: readonly Column<ProvisioningKeyBody>[] = [
  ['ID', ({ id }) => id],
  ['NAME', ({ name }) => name],
  ['TYPE', ({ type }) => type],
  ['GROUP', ({ group }) => group],
  ['TAKEN', ({ taken, limit }) => `${taken}/${limit}`],
  ['PENDING', ({ pending }) => pending],
  ['IDS', ({ id_pattern }) => id_pattern ?? 'any'],
  ['EXPIRES', ({ expires_at }) => expires_at],
]

interface WaitingClaim extends ProvisioningClaimBody {
  readonly key_id: string
}
const WAITING_COLUMNS: readonly Column<WaitingClaim>[] = [
  ['KEY', ({ key_id }) => key_id],
  ['DEVICE', ({ device_id }) => device_id],
  ['SINCE', ({ requested_at }) => requested_at],
  ['ADDRESS', ({ ip }) => ip],
]

export const provisioningKeys: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet provisioning-keys create --type mqtt_device --group line/3 --devices 500 --ids "robot-*" --ttl 86400\n' +
      '  fleet provisioning-keys create --type mqtt_device --devices 10 --approval\n' +
      '  fleet provisioning-keys pending\n  fleet provisioning-keys approve prk_… robot-7 robot-8\n\n' +
      'A device sends the key once to POST /api/v1/auth/provision, or connects over MQTT with the key as its password.\n',
  )
  list(command, cli)
  create(command, cli)
  pending(command, cli)
  approve(command, cli)
  reject(command, cli)
  remove(command, cli)
}

function list(command: Command, cli: Cli): void {
  command
    .command('list')
    .description('list provisioning keys, newest first')
    .option(...LIMIT_OPTION)
    .action(async ({ limit }: { limit: number }) => {
      const { client } = await cli.connect()
      const query = { per_page: pageSize(limit) }
      await cli.output.listFirst(client.pages.listProvisioningKeys({ query }), limit, COLUMNS)
    })
}

interface CreateOptions {
  readonly type: string
  readonly devices: number
  readonly name?: string
  readonly group?: string
  readonly ids?: string
  readonly ttl?: number
  readonly expires?: string
  readonly approval?: boolean
}

function create(command: Command, cli: Cli): void {
  command
    .command('create')
    .description('create a provisioning key; it is shown only once')
    .requiredOption('--type <type>', 'type of the devices')
    .requiredOption(
      '--devices <number>',
      'number of devices that the key may register',
      wholeNumber(1, 100_000),
    )
    .option('--name <name>', 'name of the key, such as the batch of devices that get it')
    .option('--group <group>', 'group of the devices')
    .option('--ids <pattern>', 'device ids that the key may register, with * and ? (default: any)')
    .option('--ttl <seconds>', 'lifetime of the key (default: 30 days)', wholeNumber(60, 157_680_000))
    .option('--expires <when>', 'when the key expires, instead of --ttl: a time, or as long as 90d', (text) =>
      laterInstant(text),
    )
    .option('--approval', 'each device waits until an admin approves it')
    .action(async ({ type, devices, name, group, ids, ttl, expires, approval }: CreateOptions) => {
      const { client } = await cli.connect()
      const more = definedFields({
        name,
        group,
        id_pattern: ids,
        ttl_sec: ttl,
        expires_at: expires,
        approval,
      })
      const created = await client.createProvisioningKey({ body: { type, limit: devices, ...more } })
      cli.output.item(created, [
        ['id', ({ id }) => id],
        ['key', ({ key }) => key],
        ['type', (key) => key.type],
        ['group', (key) => key.group],
        ['limit', ({ limit }) => limit],
        ['expires_at', ({ expires_at }) => expires_at],
      ])
    })
}

function pending(command: Command, cli: Cli): void {
  command
    .command('pending')
    .description('list devices that wait for approval')
    .argument('[key_id]', 'id of a key (default: all keys)')
    .action(async (named?: string) => {
      const { client } = await cli.connect()
      const ids: string[] = named === undefined ? [] : [named]
      if (named === undefined)
        for await (const page of client.pages.listProvisioningKeys({ query: { per_page: 200 } }))
          ids.push(...page.data.filter((key) => key.pending > 0).map(({ id }) => id))
      const found: WaitingClaim[] = []
      for (const id of ids) {
        const { waiting } = await client.getProvisioningKey({ provisioning_key_id: id })
        for (const claim of waiting) if (claim.status === 'pending') found.push({ key_id: id, ...claim })
      }
      cli.output.list(found, WAITING_COLUMNS)
    })
}

function approve(command: Command, cli: Cli): void {
  command
    .command('approve')
    .description('approve devices that wait; each is registered when it asks again')
    .argument('<key_id>', 'id of the key')
    .argument('<device_ids...>', 'ids of the devices')
    .action(async (provisioning_key_id: string, deviceIds: readonly string[]) => {
      const { client } = await cli.connect()
      for (const waiting_id of deviceIds) {
        await client.approveProvisioning({ provisioning_key_id, waiting_id })
        cli.output.note(`approved ${waiting_id}`)
      }
    })
}

function reject(command: Command, cli: Cli): void {
  command
    .command('reject')
    .description('reject a device that waits, and free its place')
    .argument('<key_id>', 'id of the key')
    .argument('<device_id>', 'id of the device')
    .action(async (provisioning_key_id: string, waiting_id: string) => {
      const { client } = await cli.connect()
      await client.rejectProvisioning({ provisioning_key_id, waiting_id })
      cli.output.note(`rejected ${waiting_id}`)
    })
}

function remove(command: Command, cli: Cli): void {
  addDelete(command, cli, {
    description: 'delete a provisioning key; devices that it registered stay',
    argument: ['<key_id>', 'id of the key, from `fleet provisioning-keys list`'],
    remove: (client, id) => client.deleteProvisioningKey({ provisioning_key_id: id }),
  })
}
