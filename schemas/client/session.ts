// A client's credentials. An expired access token is renewed once, however many calls wait for it.
import type { Login } from '../auth.ts'
import { RefusalError } from './errors.ts'

export interface Credentials {
  readonly email: string
  readonly password: string
}

export type Session = Pick<Login, 'access_token' | 'refresh_token'>

/** At most one of these. Public operations need none. */
export interface Identity {
  /** An access token, used until it expires. */
  readonly token?: string | undefined
  /** The API key of a service. */
  readonly apiKey?: string | undefined
  /** Used to log in when first needed, and again when the session has ended. */
  readonly credentials?: Credentials | undefined
  /** The session of an earlier login. */
  readonly session?: Session | undefined
}

export interface Logins {
  login(credentials: Credentials): Promise<Login>
  refresh(refreshToken: string): Promise<Login>
}

export interface TokenSource {
  /** The current token. Does not log in. */
  held(): string | undefined
  /** Logs in first if needed. Undefined if there is nothing to log in with. */
  current(): Promise<string | undefined>
  /** Replaces a token that was refused. Undefined if that is not possible. */
  instead(refused: string): Promise<string | undefined>
}

export function createTokenSource(
  { token, apiKey, credentials, session }: Identity,
  logins: Logins,
  onSession: (session: Session) => void,
): TokenSource {
  const fixed = token ?? apiKey
  let held = session
  let renewal: Promise<Session | undefined> | undefined

  async function renewed(): Promise<Session | undefined> {
    const next = (await refreshed(held, logins)) ?? (credentials && (await logins.login(credentials)))
    if (next === undefined) return undefined
    held = { access_token: next.access_token, refresh_token: next.refresh_token }
    onSession(held)
    return held
  }

  /** Only one renewal runs at a time, and the other calls wait for it. */
  async function renew(): Promise<string | undefined> {
    renewal ??= renewed().finally(() => {
      renewal = undefined
    })
    return (await renewal)?.access_token
  }

  const atHand = () => fixed ?? held?.access_token

  return {
    held: atHand,
    current: async () => atHand() ?? (await renew()),
    async instead(refused) {
      if (fixed !== undefined) return undefined
      // The token was renewed while this call was in progress.
      if (held !== undefined && held.access_token !== refused) return held.access_token
      return await renew()
    },
  }
}

/** Undefined once the session has ended. */
async function refreshed(session: Session | undefined, logins: Logins): Promise<Session | undefined> {
  if (session === undefined) return undefined
  try {
    return await logins.refresh(session.refresh_token)
  } catch (error) {
    if (error instanceof RefusalError && error.status === 401) return undefined
    throw error
  }
}
