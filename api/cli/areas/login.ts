// `fleet login` and `fleet logout`: stored credentials for a service.
import type { Session } from '../../../schemas/client.ts'
import type { Area } from '../area.ts'
import { type Cli, CONTEXT_DEFAULT } from '../cli.ts'
import type { Context } from '../contexts-file.ts'
import { ask, askSecret, readSecret } from '../prompt.ts'

interface LoginOptions {
  readonly email?: string
  readonly passwordStdin?: boolean
  readonly apiKeyStdin?: boolean
  readonly as?: string
}

export const login: Area = (command, cli) => {
  command
    .option('--email <email>', 'e-mail address (default: prompt)')
    .option('--password-stdin', 'read the password from standard input (the default without a terminal)')
    .option('--api-key-stdin', 'log in with an API key from standard input')
    .option('--as <name>', 'name for this login, if you have several', CONTEXT_DEFAULT)
    .addHelpText(
      'after',
      '\nExamples:\n  fleet login --url https://fleet.example.com --email me@example.com --as work\n' +
        '  fleet login --email me@example.com --password-stdin < password.txt\n',
    )
    .action(async (options: LoginOptions) => {
      const { as: name = CONTEXT_DEFAULT } = options
      const url = new URL(cli.url())
      if (isReadable(url))
        cli.output.note(
          `warning: the connection to ${url.host} is not encrypted; use https:// outside your own network`,
        )
      const { context, who } = await logIn(cli, cli.url(), options)
      cli.contexts.change(({ contexts }) => ({ current: name, contexts: { ...contexts, [name]: context } }))
      const { email, name: calledBy, role } = who
      cli.output.note(`logged in at ${context.url} as ${email ?? calledBy} (${role})`)
      if (cli.output.isJson) cli.output.item({ context: name, url: context.url, email, role })
    })
}

interface LoginIdentity {
  readonly context: Context
  /** An API key has no e-mail address. */
  readonly who: { readonly email: string | null; readonly name: string; readonly role: string }
}

async function logIn(cli: Cli, url: string, options: LoginOptions): Promise<LoginIdentity> {
  const { createClient } = await import('../../../schemas/client.ts')
  const base = { baseUrl: url, signal: cli.signal }
  if (options.apiKeyStdin === true) {
    const apiKey = await readSecret()
    return { context: { url, apiKey }, who: await createClient({ ...base, apiKey }).me() }
  }
  const email = options.email ?? (await ask('E-mail: '))
  const password = options.passwordStdin === true ? await readSecret() : await askSecret('Password: ')
  let session: Session | undefined
  const onSession = (next: Session) => {
    session = next
  }
  const who = await createClient({ ...base, credentials: { email, password }, onSession }).me()
  return { context: { url, email: who.email ?? email, session }, who }
}

/** Whether a password would be sent unencrypted. */
function isReadable({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}

export const logout: Area = (command, cli) => {
  command.action(async () => {
    const { current } = cli.contexts.read()
    const name = cli.options.context ?? current
    const context = name === undefined ? undefined : cli.contexts.read().contexts[name]
    if (name === undefined || context === undefined) return cli.output.note('you are not logged in')
    const { client } = await cli.connect()
    const { session } = context
    try {
      if (session !== undefined) await client.logout({ body: { refresh_token: session.refresh_token } })
    } finally {
      // Removed locally in any case. If the service could not be reached, the session there expires by itself.
      cli.contexts.change((before) => {
        const { [name]: _, ...contexts } = before.contexts
        return { current: before.current === name ? undefined : before.current, contexts }
      })
    }
    cli.output.note(`logged out of ${context.url}`)
  })
}
