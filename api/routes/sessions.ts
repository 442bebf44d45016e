// /auth/session: a browser's login, whose refresh token is in a cookie. /auth/sessions: a user's logins.
import type { RefreshGrant } from '../../engine/ports/users.ts'
import { toIso } from '../../schemas/ids.ts'
import {
  createBrowserSession,
  deleteBrowserSession,
  endSession,
  listSessions,
  refreshBrowserSession,
} from '../../schemas/operations/sessions.ts'
import type { BrowserSession, BrowserSessionBody, UserSession } from '../../schemas/session.ts'
import { loginOrigin } from '../auth/login-origin.ts'
import type { OpenedLogin } from '../auth/logins.ts'
import { sessionCookie } from '../auth/session-cookie.ts'
import { type Answer, answer } from '../http/answer.ts'
import { bearerOf } from '../http/gate.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { API_LIMITS } from '../limits.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'
import { meBody } from './me-body.ts'

const NO_STORE = { 'cache-control': 'no-store' }

export function sessionRoutes(services: Services): readonly Route[] {
  const { accounts, tokens, users, clock } = services
  const { logins } = accounts
  const cookie = sessionCookie(tokens.signingKeyId)

  function sessionAnswer(opened: OpenedLogin | Refusal, isSecure: boolean): Answer | Refusal {
    if (opened.kind === 'refused') return opened
    const { userId, accessToken, refreshToken, rememberedUntil } = opened
    const user = users.get(userId)
    if (user === undefined) return refused('UNAUTHENTICATED', { message: 'this user was deleted' })
    const body: BrowserSession = {
      access_token: accessToken,
      token_type: 'bearer',
      expires_in: API_LIMITS.accessTokenSec,
      user: meBody(user),
    }
    const maxAgeSec =
      rememberedUntil === undefined ? undefined : Math.floor((rememberedUntil - clock.now()) / 1000)
    const set = cookie.write(refreshToken, { isSecure, maxAgeSec })
    return { ...answer(200, body, { ...NO_STORE, 'set-cookie': set }), userId }
  }

  return [
    route(createBrowserSession, async ({ body, ip, header, isLocal, isSecure }) => {
      const credentials = parseCredentials(body)
      if (credentials.kind === 'refused') return credentials
      const about = { from: loginOrigin(ip, header), browser: { isRemembered: body.remember === true } }
      if (credentials.kind === 'password')
        return sessionAnswer(await accounts.login({ ...credentials, ...about, isLocal }), isSecure)
      const proven = await services.loginTickets.redeem(credentials.ticket)
      if (proven.kind === 'refused') return proven
      return sessionAnswer(await accounts.loginWithTicket(proven, about), isSecure)
    }),
    route(refreshBrowserSession, async ({ ip, header, isSecure }) => {
      const token = cookie.read(header('cookie'))
      if (token === undefined) return refused('UNAUTHENTICATED', { message: 'there is no session; log in' })
      const use = { from: loginOrigin(ip, header), isBrowser: true }
      return sessionAnswer(await logins.renew(token, use), isSecure)
    }),
    route(deleteBrowserSession, async ({ header, isSecure }) => {
      const token = cookie.read(header('cookie'))
      const by = token === undefined ? undefined : await logins.endBrowser(token)
      return {
        ...answer(204, undefined, { ...NO_STORE, 'set-cookie': cookie.remove({ isSecure }) }),
        userId: by,
      }
    }),
    route(listSessions, async ({ user, header }) => {
      if (user.email === undefined) return noSessions()
      const verified = await tokens.verifyAccess(bearerOf(header('authorization')) ?? '')
      const current = verified.kind === 'valid' ? verified.claims.login : undefined
      const grants = await logins.list(user.id)
      return answer(200, { data: grants.map((grant) => sessionBody(grant, current)) }, NO_STORE)
    }),
    route(endSession, async ({ user, params }) => {
      if (user.email === undefined) return noSessions()
      const isEnded = await logins.endById(user.id, params.session_id)
      return isEnded ? answer(204, undefined) : refused('NOT_FOUND', { message: 'you have no such login' })
    }),
  ]
}

type Credentials =
  | { readonly kind: 'password'; readonly email: string; readonly password: string }
  | { readonly kind: 'ticket'; readonly ticket: string }
  | Refusal

function parseCredentials({ email, password, ticket }: BrowserSessionBody): Credentials {
  if (ticket !== undefined) {
    if (email === undefined && password === undefined) return { kind: 'ticket', ticket }
    return invalid('/ticket', { code: 'NOT_ALLOWED', message: 'stands in place of email and password' })
  }
  if (email === undefined) return invalid('/email', { code: 'REQUIRED', message: 'is required' })
  if (password === undefined) return invalid('/password', { code: 'REQUIRED', message: 'is required' })
  return { kind: 'password', email, password }
}

function sessionBody(
  { family, browser, createdAt, usedAt, expiresAt, from }: RefreshGrant,
  current: string | undefined,
): UserSession {
  return {
    id: family,
    session_id: family,
    kind: browser === undefined ? 'api' : 'browser',
    created_at: toIso(createdAt),
    last_used_at: toIso(usedAt),
    expires_at: toIso(expiresAt),
    ip: from?.ip ?? null,
    user_agent: from?.userAgent ?? null,
    current: family === current,
  }
}

const noSessions = () => refused('FORBIDDEN', { message: 'an API key has no logins' })
