// `fleet users`: user accounts, managed by admins.
import type { Command } from 'commander'
import type { Client } from '../../../schemas/client.ts'
import type { UserBody } from '../../../schemas/users.ts'
import { ROLES, type Role } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { addDelete } from '../delete-command.ts'
import { EXIT, Failure } from '../failure.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'
import { askSecret, readSecret } from '../prompt.ts'
import { runService } from '../run-service.ts'

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
    '\nExamples:\n  fleet users create --email eve@example.com --name Eve --role operator --groups yard\n' +
      '  fleet users edit eve@example.com --groups warehouse/a yard\n' +
      '  fleet users edit usr_01jd0c3k9x7m2v5t8r4q6w1z0y --disable\n' +
      '  fleet users reset-password me@example.com\n',
  )
  list(command, cli)
  get(command, cli)
  create(command, cli)
  edit(command, cli)
  remove(command, cli)
  resetPassword(command)
}

const USER = ['<user>', 'id or e-mail address of the user'] as const
const PASSWORD_STDIN = ['--password-stdin', 'read the password from standard input'] as const

function list(usersCommand: Command, cli: Cli): void {
  const command = usersCommand
    .command('list')
    .description('list users')
    .option('-q, --query <prefix>', 'only users whose name or e-mail address starts with this')
    .option(...LIMIT_OPTION)
  command.addOption(command.createOption('--role <role>', 'only users with this role').choices(ROLES))
  command.action(async ({ query: q, role, limit }: { query?: string; role?: Role; limit: number }) => {
    const { client } = await cli.connect()
    const query = {
      per_page: pageSize(limit),
      ...definedFields({ q, role }),
    }
    await cli.output.listFirst(client.pages.listUsers({ query }), limit, COLUMNS)
  })
}

function get(command: Command, cli: Cli): void {
  command
    .command('get')
    .description('show a user')
    .argument(...USER)
    .action(async (user: string) => {
      const { client } = await cli.connect()
      cli.output.item(await client.getUser({ user_id: await idOf(client, user) }))
    })
}

function create(usersCommand: Command, cli: Cli): void {
  const command = usersCommand
    .command('create')
    .description('create a user; prompts for the password')
    .requiredOption('--email <email>', 'e-mail address, used to log in')
    .requiredOption('--name <name>', 'display name')
    .option('--groups <groups...>', 'restrict the user to these group subtrees')
    .option(...PASSWORD_STDIN)
  command.addOption(
    command.createOption('--role <role>', 'role of the user').choices(ROLES).default('viewer'),
  )
  command.action(async ({ email, name, role, groups, passwordStdin }: CreateOptions) => {
    const { client } = await cli.connect()
    const password = await passwordFrom(passwordStdin)
    const user = await client.register({ body: { email, name, role, password } })
    cli.output.item(groups === undefined ? user : await restrictToGroups(client, user.id, groups))
  })
}

interface CreateOptions {
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly groups?: string[]
  readonly passwordStdin?: boolean
}

/** If the restriction fails, the user is removed again, so that nobody keeps more access than intended. */
async function restrictToGroups(client: Client, user_id: string, groups: string[]): Promise<UserBody> {
  try {
    return await client.editUser({ user_id, body: { groups } })
  } catch (error) {
    await client.deleteUser({ user_id })
    throw error
  }
}

/** The id of a user given by id or by e-mail address. */
async function idOf(client: Client, user: string): Promise<string> {
  if (!user.includes('@')) return user
  const address = user.toLowerCase()
  for await (const { data } of client.pages.listUsers({ query: { q: user } })) {
    const found = data.find(({ email }) => email.toLowerCase() === address)
    if (found !== undefined) return found.id
  }
  throw new Failure(EXIT.notFound, `no user has the e-mail address ${user}`)
}

const passwordFrom = (stdin: boolean | undefined) =>
  stdin === true ? readSecret() : askSecret('Password of the new user: ')

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
    .description('change a user; a new role, a new password and --disable end all sessions of the user')
    .argument(...USER)
    .option('--email <email>', 'e-mail address, used to log in')
    .option('--name <name>', 'display name')
    .option('--groups <groups...>', 'restrict the user to these group subtrees')
    .option('--disable', 'block logins')
    .option(...PASSWORD_STDIN)
  for (const option of [
    command.createOption('--all-groups', 'remove the restriction to groups').conflicts('groups'),
    command.createOption('--enable', 'allow logins again').conflicts('disable'),
    command.createOption('--role <role>', 'role of the user').choices(ROLES),
  ])
    command.addOption(option)
  command.action(async (user: string, options: EditOptions) => {
    const { email, name, role, groups, allGroups, enable, disable, passwordStdin } = options
    const body = {
      ...definedFields({ email, name, role, groups }),
      ...(allGroups === true ? { groups: [] } : {}),
      ...(disable === true ? { disabled: true } : {}),
      ...(enable === true ? { disabled: false } : {}),
      ...(passwordStdin === true ? { password: await readSecret() } : {}),
    }
    if (Object.keys(body).length === 0) command.error('error: nothing to change; see --help for the fields')
    const { client } = await cli.connect()
    cli.output.item(await client.editUser({ user_id: await idOf(client, user), body }))
  })
}

function remove(command: Command, cli: Cli): void {
  addDelete(command, cli, {
    description: 'delete a user and end all sessions',
    argument: USER,
    remove: async (client, user) => client.deleteUser({ user_id: await idOf(client, user) }),
  })
}

function resetPassword(command: Command): void {
  command
    .command('reset-password')
    .description('set a new password without the API, for a user who can no longer log in')
    .argument('<email>', 'e-mail address of the user')
    .option(...PASSWORD_STDIN)
    .addHelpText(
      'after',
      '\nRun it on the machine of the service and with its settings in the environment (FLEET_DATA_DIR, or\n' +
        'FLEET_PROFILE and FLEET_REDIS_URL, …). Stop an embedded service first; the nodes of a cluster may keep\n' +
        'running. Without --password-stdin a password is generated and printed.\n',
    )
    .action((email: string, { passwordStdin }: { passwordStdin?: boolean }) =>
      runService(['--reset-password', email, ...(passwordStdin === true ? ['--password-stdin'] : [])]),
    )
}
