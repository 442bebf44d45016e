// `fleet api-keys`: access for programs, managed by admins.
import type { Command } from 'commander'
import type { ApiKeyBody } from '../../../schemas/api-keys.ts'
import { ROLES, type Role } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { addDelete } from '../delete-command.ts'
import { laterInstant } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'

const COLUMNS: readonly Column<ApiKeyBody>[] = [
  ['ID', ({ id }) => id],
  ['NAME', ({ name }) => name],
  ['ROLE', ({ role }) => role],
  ['GROUPS', ({ groups }) => (groups.length === 0 ? 'all' : groups)],
  ['EXPIRES', ({ expires_at }) => expires_at],
  ['LAST USED', ({ last_used_at }) => last_used_at],
]

export const apiKeys: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet api-keys create ci --role operator --groups warehouse --expires 90d\n' +
      '  fleet login --url https://fleet.example.com --api-key-stdin < key.txt\n',
  )
  list(command, cli)
  create(command, cli)
  remove(command, cli)
}

function list(command: Command, cli: Cli): void {
  command
    .command('list')
    .description('list API keys, newest first')
    .option(...LIMIT_OPTION)
    .action(async ({ limit }: { limit: number }) => {
      const { client } = await cli.connect()
      await cli.output.listFirst(
        client.pages.listApiKeys({ query: { per_page: pageSize(limit) } }),
        limit,
        COLUMNS,
      )
    })
}

interface CreateOptions {
  readonly role: Role
  readonly groups?: string[]
  readonly expires?: string
}

function create(keysCommand: Command, cli: Cli): void {
  const command = keysCommand
    .command('create')
    .description('create an API key; it is shown only once')
    .argument('<name>', 'name of the key, such as the program that uses it')
    .option('--groups <groups...>', 'restrict the key to these group subtrees')
    .option('--expires <when>', 'when the key expires: a time, or as long as 90d (default: never)', (text) =>
      laterInstant(text),
    )
  command.addOption(
    command.createOption('--role <role>', 'role of the key').choices(ROLES).makeOptionMandatory(),
  )
  command.action(async (name: string, { role, groups, expires }: CreateOptions) => {
    const { client } = await cli.connect()
    const body = {
      name,
      role,
      ...definedFields({ groups, expires_at: expires }),
    }
    cli.output.item(await client.createApiKey({ body }), [
      ['id', ({ id }) => id],
      ['api_key', ({ api_key }) => api_key],
      ['role', (key) => key.role],
      ['expires_at', ({ expires_at }) => expires_at],
    ])
  })
}

function remove(command: Command, cli: Cli): void {
  addDelete(command, cli, {
    description: 'delete an API key, effective immediately',
    argument: ['<key_id>', 'id of the key, from `fleet api-keys list`'],
    remove: (client, key_id) => client.deleteApiKey({ key_id }),
  })
}
