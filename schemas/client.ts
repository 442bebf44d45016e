// A client of the REST API, inferred from the operations that the server itself uses for routing. It needs only `fetch`, so
// it works in browsers as well as in Node.
//
//   const fleet = createClient({ baseUrl: 'http://localhost:8000', credentials: { email, password } })
//   const device = await fleet.getDevice({ device_id: 'robot-7' })
//   for await (const page of fleet.pages.listDevices({ query: { group: 'warehouse' } })) …
import type { Login } from './auth.ts'
import type { Methods, Pagers } from './client/calls.ts'
import { ConnectionError, RefusalError } from './client/errors.ts'
import { pagesOf } from './client/pages.ts'
import { type Call, toRequest, type Where } from './client/request.ts'
import { createTokenSource, type Identity, type Session, type TokenSource } from './client/session.ts'
import { createTransport, type Send } from './client/transport.ts'
import type { Operation } from './operation.ts'
import { OPERATIONS } from './operations/all.ts'

export { ConnectionError, RefusalError, type Session, type TokenSource }

export interface ClientOptions extends Identity {
  /** Origin of the service, without `/api/v1`. */
  readonly baseUrl: string
  /** Applies to each try, but not to uploads of files. */
  readonly timeoutMs?: number
  /** Number of tries, including the first. */
  readonly triesMax?: number
  /** Called with every new login and renewal, so that it can be stored. */
  readonly onSession?: (session: Session) => void
  /** Used by calls without a signal of their own. */
  readonly signal?: AbortSignal
  readonly fetch?: typeof fetch
  /** Provides the tokens, instead of any other identity. A browser session, for example, keeps its refresh token in a
   *  cookie. */
  readonly tokens?: TokenSource
  /** Replaces the pause between two tries, for tests. */
  readonly wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

export interface Client extends Methods {
  /** Iterates over all pages. Items added or removed meanwhile may be missed or returned twice. */
  readonly pages: Pagers
}

const TIMEOUT_MS = 30_000
const TRIES_MAX = 4

export function createClient(options: ClientOptions): Client {
  const { baseUrl, timeoutMs = TIMEOUT_MS, onSession = () => undefined, wait = passes } = options
  // A browser's `fetch` throws if it is called as a method of another object.
  const { fetch = (...given: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...given) } = options
  const send = createTransport({ fetch, wait, triesMax: options.triesMax ?? TRIES_MAX })
  const base = { baseUrl: baseUrl.replace(/(?<!\/)\/+$/, ''), timeoutMs, signal: options.signal, send }
  const anyone: Invoke = (operation, call) => perform(base, operation, call)
  const logins = {
    // The operations declare these types for their replies.
    login: async (body: object) => (await anyone(OPERATIONS.login, { body })) as Login,
    refresh: async (token: string) =>
      (await anyone(OPERATIONS.refresh, { body: { refresh_token: token } })) as Login,
  }
  const tokens = options.tokens ?? createTokenSource(options, logins, onSession)
  const invoke: Invoke = (operation, call) => performAs(tokens, base, operation, call)
  const entries: readonly (readonly [string, Operation])[] = Object.entries(OPERATIONS)
  const methods = entries.map(([id, operation]) => [id, (call?: Call) => invoke(operation, call)])
  const pages = entries.map(([id, operation]) => [
    id,
    (call?: Call) => pagesOf((asked) => invoke(operation, asked), call),
  ])
  // The types are inferred from the same table.
  return { ...Object.fromEntries(methods), pages: Object.fromEntries(pages) } as unknown as Client
}

type Invoke = (operation: Operation, call?: Call) => Promise<unknown>

interface Base extends Where {
  readonly send: Send
}

async function performAs(
  tokens: TokenSource,
  base: Base,
  operation: Operation,
  call?: Call,
): Promise<unknown> {
  // A public operation does not trigger a login.
  const token = operation.access === 'public' ? tokens.held() : await tokens.current()
  try {
    return await perform(base, operation, call, token)
  } catch (error) {
    const isOver = error instanceof RefusalError && OVER.has(error.code)
    const other = isOver && token !== undefined ? await tokens.instead(token) : undefined
    if (other === undefined) throw error
    // The service refused the first request without reading it, so any request may be sent again.
    return await perform(base, operation, call, other)
  }
}

const OVER: ReadonlySet<string> = new Set(['TOKEN_EXPIRED', 'UNAUTHENTICATED'])

async function perform(base: Base, operation: Operation, call: Call = {}, token?: string): Promise<unknown> {
  const { text, bytes } = await base.send(toRequest(base, operation, call, token))
  if (bytes !== undefined) return bytes
  return toValue(operation, text)
}

/** Trusts the operation's schema, because the service's tests check every answer against it. */
function toValue({ replies }: Operation, text: string): unknown {
  if (Object.values(replies).includes('text')) return text
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ConnectionError('stranger', 'the answer is not the JSON it should be', { cause })
  }
}

function passes(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}
