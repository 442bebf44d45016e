// `fleet users`: an admin manages people.
import type { Command } from 'commander'
import type { UserBody } from '../../../schemas/users.ts'
import { ROLES, type Role } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize, take } from '../paged.ts'
import { askSecret, confirm, readSecret } from '../prompt.ts'

const COLUMNS: readonly Column<UserBody>[] = [
  ['ID', ({ id }) => id],
  ['E-MAIL', ({ email }) => email],
  ['NAME', ({ name }) => name],
  ['ROLE', ({ role }) => role],
  ['GROUPS', ({ groups }) => (groups.length === 0 ? 'all' : groups)],
  ['DISABLED', ({ disabled }) => disabled],
  ['LAST LOGIN', ({ last_login_at }) => last_login_at],
]

export const users: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet users create --email eve@example.com --name Eve --role operator\n' +
      '  fleet users edit usr_01jd0c3k9x7m2v5t8r4q6w1z0y --groups warehouse/a yard\n' +
      '  fleet users edit usr_01jd0c3k9x7m2v5t8r4q6w1z0y --disable\n',
  )
  list(command, cli)
  get(command, cli)
  create(command, cli)
  edit(command, cli)
  remove(command, cli)
}

const USER = ['<user_id>', 'the id of the user; `fleet users list` shows it'] as const
const PASSWORD_STDIN = ['--password-stdin', 'read the password from standard input'] as const

function list(usersCommand: Command, cli: Cli): void {
  const command = usersCommand
    .command('list')
    .description('list users')
    .option('-q, --query <prefix>', 'whose name or e-mail begins so')
    .option(...LIMIT_OPTION)
  command.addOption(command.createOption('--role <role>', 'with this role').choices(ROLES))
  command.action(async ({ query: q, role, limit }: { query?: string; role?: Role; limit: number }) => {
    const { client } = await cli.connect()
    const query = {
      per_page: pageSize(limit),
      ...(q === undefined ? {} : { q }),
      ...(role === undefined ? {} : { role }),
    }
    const { items, hasMore } = await take(client.pages.listUsers({ query }), limit)
    cli.output.list(items, COLUMNS)
    if (hasMore) cli.output.note(`the first ${limit}; --limit shows more`)
  })
}

function get(command: Command, cli: Cli): void {
  command
    .command('get')
    .description('show a user')
    .argument(...USER)
    .action(async (user_id: string) => {
      const { client } = await cli.connect()
      cli.output.item(await client.getUser({ user_id }))
    })
}

function create(usersCommand: Command, cli: Cli): void {
  const command = usersCommand
    .command('create')
    .description('register a user; the password is asked for')
    .requiredOption('--email <email>', 'what they log in with')
    .requiredOption('--name <name>', 'what they are called')
    .option(...PASSWORD_STDIN)
  command.addOption(
    command.createOption('--role <role>', 'what they may do').choices(ROLES).default('viewer'),
  )
  command.action(
    async ({
      email,
      name,
      role,
      passwordStdin,
    }: {
      email: string
      name: string
      role: Role
      passwordStdin?: boolean
    }) => {
      const { client } = await cli.connect()
      const password = await passwordFrom(passwordStdin)
      cli.output.item(await client.register({ body: { email, name, role, password } }))
    },
  )
}

const passwordFrom = (stdin: boolean | undefined) =>
  stdin === true ? readSecret() : askSecret('Their password: ')

interface EditOptions {
  readonly email?: string
  readonly name?: string
  readonly role?: Role
  readonly groups?: string[]
  readonly allGroups?: boolean
  readonly enable?: boolean
  readonly disable?: boolean
  readonly passwordStdin?: boolean
}

function edit(usersCommand: Command, cli: Cli): void {
  const command = usersCommand
    .command('edit')
    .description('change a user; a new role or password and --disable end their logins')
    .argument(...USER)
    .option('--email <email>', 'what they log in with')
    .option('--name <name>', 'what they are called')
    .option('--groups <groups...>', 'the group subtrees they see')
    .option('--all-groups', 'they see everything')
    .option('--disable', 'they cannot log in any more')
    .option('--enable', 'they can again')
    .option(...PASSWORD_STDIN)
  command.addOption(command.createOption('--role <role>', 'what they may do').choices(ROLES))
  command.action(async (user_id: string, options: EditOptions) => {
    const { email, name, role, groups, allGroups, enable, disable, passwordStdin } = options
    const body = {
      ...(email === undefined ? {} : { email }),
      ...(name === undefined ? {} : { name }),
      ...(role === undefined ? {} : { role }),
      ...(groups === undefined ? {} : { groups }),
      ...(allGroups === true ? { groups: [] } : {}),
      ...(disable === true ? { disabled: true } : {}),
      ...(enable === true ? { disabled: false } : {}),
      ...(passwordStdin === true ? { password: await readSecret() } : {}),
    }
    if (Object.keys(body).length === 0) command.error('error: nothing to change; --help lists what can be')
    const { client } = await cli.connect()
    cli.output.item(await client.editUser({ user_id, body }))
  })
}

function remove(command: Command, cli: Cli): void {
  command
    .command('delete')
    .description('delete a user and end their logins')
    .argument(...USER)
    .option('--yes', 'do not ask')
    .action(async (user_id: string, { yes }: { yes?: boolean }) => {
      const { client } = await cli.connect()
      await confirm(`delete ${user_id}?`, yes)
      await client.deleteUser({ user_id })
      cli.output.note(`${user_id} is deleted`)
    })
}
