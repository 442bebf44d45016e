// `fleet api-keys`: an admin gives services their access.
import type { Command } from 'commander'
import type { ApiKeyBody } from '../../../schemas/api-keys.ts'
import { ROLES, type Role } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize, take } from '../paged.ts'
import { confirm } from '../prompt.ts'

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
    '\nExamples:\n  fleet api-keys create ci --role operator --groups warehouse --expires 2027-01-01T00:00:00Z\n' +
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
      const { items } = await take(client.pages.listApiKeys({ query: { per_page: pageSize(limit) } }), limit)
      cli.output.list(items, COLUMNS)
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
    .description('create an API key; it is shown only here')
    .argument('<name>', 'what it is for')
    .option('--groups <groups...>', 'the group subtrees it sees; everything if left out')
    .option('--expires <instant>', 'until when it is good; until it is deleted if left out')
  command.addOption(
    command.createOption('--role <role>', 'what it may do').choices(ROLES).makeOptionMandatory(),
  )
  command.action(async (name: string, { role, groups, expires }: CreateOptions) => {
    const { client } = await cli.connect()
    const body = {
      name,
      role,
      ...(groups === undefined ? {} : { groups }),
      ...(expires === undefined ? {} : { expires_at: expires }),
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
  command
    .command('delete')
    .description('delete an API key: it is void at once')
    .argument('<key_id>', 'its id; `fleet api-keys list` shows it')
    .option('--yes', 'do not ask')
    .action(async (key_id: string, { yes }: { yes?: boolean }) => {
      const { client } = await cli.connect()
      await confirm(`delete ${key_id}?`, yes)
      await client.deleteApiKey({ key_id })
      cli.output.note(`${key_id} is deleted`)
    })
}
