// `fleet users`: user accounts, managed by admins.
import type { Command } from 'commander'
import type { UserBody } from '../../../schemas/users.ts'
import { ROLES, type Role } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { addDelete } from '../delete-command.ts'
import { given } from '../given.ts'
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
    '\nExamples:\n  fleet users create --email eve@example.com --name Eve --role operator\n' +
      '  fleet users edit usr_01jd0c3k9x7m2v5t8r4q6w1z0y --groups warehouse/a yard\n' +
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

const USER = ['<user_id>', 'id of the user, from `fleet users list`'] as const
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
      ...given({ q, role }),
    }
    await cli.output.listFirst(client.pages.listUsers({ query }), limit, COLUMNS)
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
    .description('create a user; prompts for the password')
    .requiredOption('--email <email>', 'e-mail address, used to log in')
    .requiredOption('--name <name>', 'display name')
    .option(...PASSWORD_STDIN)
  command.addOption(
    command.createOption('--role <role>', 'role of the user').choices(ROLES).default('viewer'),
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
    .option('--all-groups', 'remove the restriction to groups')
    .option('--disable', 'block logins')
    .option('--enable', 'allow logins again')
    .option(...PASSWORD_STDIN)
  command.addOption(command.createOption('--role <role>', 'role of the user').choices(ROLES))
  command.action(async (user_id: string, options: EditOptions) => {
    const { email, name, role, groups, allGroups, enable, disable, passwordStdin } = options
    const body = {
      ...given({ email, name, role, groups }),
      ...(allGroups === true ? { groups: [] } : {}),
      ...(disable === true ? { disabled: true } : {}),
      ...(enable === true ? { disabled: false } : {}),
      ...(passwordStdin === true ? { password: await readSecret() } : {}),
    }
    if (Object.keys(body).length === 0) command.error('error: nothing to change; see --help for the fields')
    const { client } = await cli.connect()
    cli.output.item(await client.editUser({ user_id, body }))
  })
}

function remove(command: Command, cli: Cli): void {
  addDelete(command, cli, {
    description: 'delete a user and end all sessions',
    argument: USER,
    remove: (client, user_id) => client.deleteUser({ user_id }),
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
