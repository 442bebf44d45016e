// The context every command runs in: its output, the service it talks to, and the login it uses there.
import type { Client, ClientOptions, Session } from '../../schemas/client.ts'
import { type Context, type ContextsFile, openContextsFile } from './contexts-file.ts'
import type { Environment } from './environment.ts'
import { EXIT, Failure } from './failure.ts'
import { createOutput, type Output, type OutputForm, type Writer } from './output.ts'
import { serviceUrl } from './service-url.ts'

/** Options that every command accepts. */
export interface GlobalOptions {
  readonly json?: boolean
  readonly output?: OutputForm
  readonly columns?: readonly string[]
  readonly context?: string
  readonly url?: string
}

export interface Connection {
  readonly client: Client
  readonly url: string
  /** An access token that is valid now, or an API key. */
  token(): Promise<string>
}

export interface Cli {
  readonly environment: Environment
  readonly contexts: ContextsFile
  readonly output: Output
  readonly options: GlobalOptions
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
  /** Address of the service, whether or not there is a login. */
  url(): string
  connect(options?: Pick<ClientOptions, 'triesMax' | 'timeoutMs'>): Promise<Connection>
}

const URL_DEFAULT = 'http://localhost:8000'
export const CONTEXT_DEFAULT = 'default'

export interface CliOptions {
  readonly environment: Environment
  readonly stdout: Writer
  readonly stderr: Writer
  readonly signal: AbortSignal
  /** Call only after the command line has been parsed. */
  readonly options: () => GlobalOptions
}

export function createCli({ environment, stdout, stderr, signal, options }: CliOptions): Cli {
  const contexts = openContextsFile(environment.configDir)
  let output: Output | undefined
  return {
    environment,
    contexts,
    signal,
    get options() {
      return options()
    },
    get output() {
      if (output !== undefined) return output
      const { json, output: form = 'table', columns } = options()
      const style = { form: json === true ? 'json' : form, isPlain: environment.isPlain, columns } as const
      output = createOutput({ stdout, stderr }, style)
      return output
    },
    url: () => chooseTarget(contexts, environment, options()).context.url,
    connect: (more) => connect(contexts, chooseTarget(contexts, environment, options()), { signal, ...more }),
  }
}

interface Target {
  /** Undefined if the target is not a stored context. */
  readonly name: string | undefined
  readonly context: Context
  readonly token: string | undefined
}

/** Flags take precedence over the environment, and the environment over the current context. */
function chooseTarget(
  file: ContextsFile,
  environment: Environment,
  { context: wanted, url }: GlobalOptions,
): Target {
  const { current, contexts } = file.read()
  const name = wanted ?? current
  const stored = name === undefined || !Object.hasOwn(contexts, name) ? undefined : contexts[name]
  if (wanted !== undefined && stored === undefined)
    throw new Failure(
      EXIT.usage,
      `there is no context ${wanted}; run \`fleet contexts list\` to see all of them`,
    )
  const fromEnvironment = wanted === undefined ? environment.url : undefined
  const address = serviceUrl(url ?? fromEnvironment ?? stored?.url ?? URL_DEFAULT)
  const token = wanted === undefined ? environment.token : undefined
  // Credentials are only sent to the service they were issued by.
  if (stored === undefined || stored.url !== address)
    return { name: undefined, context: { url: address }, token }
  return { name, context: stored, token }
}

async function connect(
  file: ContextsFile,
  { name, context, token }: Target,
  more: Pick<ClientOptions, 'triesMax' | 'timeoutMs' | 'signal'>,
): Promise<Connection> {
  const { url, apiKey } = context
  let session = context.session
  const { createClient } = await import('../../schemas/client.ts')
  const onSession = (next: Session) => {
    session = next
    if (name !== undefined) file.change((before) => withSession(before, name, next))
  }
  const identity = token === undefined ? { session, apiKey } : { token }
  const client = createClient({ baseUrl: url, onSession, ...identity, ...more })
  return {
    client,
    url,
    async token() {
      const fixed = token ?? apiKey
      if (fixed !== undefined) return fixed
      // Any authenticated call renews an expired token.
      await client.me()
      if (session === undefined) throw new Failure(EXIT.notAllowed, 'not logged in; run `fleet login`')
      return session.access_token
    },
  }
}

function withSession(before: ReturnType<ContextsFile['read']>, name: string, session: Session) {
  const context = before.contexts[name]
  // The context was removed meanwhile, and stays removed.
  if (context === undefined) return before
  return { ...before, contexts: { ...before.contexts, [name]: { ...context, session } } }
}
