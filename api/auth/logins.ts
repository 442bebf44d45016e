// Renewable logins. Each has a refresh token of 256 random bits, of which only the SHA-256 is stored.
//
// - A token proves something as of a moment in the order of users' changes (`at`). A revocation after that moment also
//   covers everything issued for the token, however long signing takes.
// L2. With rotation, a token has one successor. Repeating a renewal within the leeway gives the same successor, or its own
//     if it was replaced meanwhile: of several pages of a browser, the last answer decides which token it keeps. A later
//     repetition means that two parties hold the token, and ends the login. Tokens of browsers always rotate.
// L3. A browser's token is accepted only in a cookie, and a program's token only in a body.
import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { Clock } from '../../engine/ports/clock.ts'
import type { LoginOrigin, RefreshGrant, User, Users } from '../../engine/ports/users.ts'
import { Millis, type UserId } from '../../schemas/ids.ts'
import type { Ids } from '../ids.ts'
import { API_LIMITS } from '../limits.ts'
import type { Logger } from '../logger.ts'
import { type Refusal, refused } from '../refusal.ts'
import type { Tokens } from './tokens.ts'

const SECRET_BYTES = 32
const PREFIX = 'rt_'

export interface OpenedLogin {
  readonly kind: 'logged_in'
  readonly userId: UserId
  readonly accessToken: string
  readonly refreshToken: string
  /** When the browser forgets the login. Undefined if that happens when the browser is closed. */
  readonly rememberedUntil: Millis | undefined
}

/** Where and how a token is used. */
export interface LoginUse {
  readonly from: LoginOrigin
  readonly isBrowser: boolean
}

export interface LoginsOptions {
  readonly users: Users
  readonly tokens: Pick<Tokens, 'issueAccess'>
  readonly ids: Ids
  readonly clock: Clock
  readonly refreshRotation: boolean
  readonly logger: Logger
}

export interface Logins {
  /** `at` is the time at which the user proved their identity. */
  open(
    user: User,
    about: { readonly at: Millis; readonly from: LoginOrigin; readonly browser?: RefreshGrant['browser'] },
  ): Promise<OpenedLogin>
  renew(refreshToken: string, use: LoginUse): Promise<OpenedLogin | Refusal>
  end(userId: UserId, refreshToken: string): Promise<void>
  /** Ends the login of a browser's token. Resolves with its user, if there is one. */
  endBrowser(refreshToken: string): Promise<UserId | undefined>
  /** One grant for each of the user's logins that can be renewed, the most recently used first. */
  list(userId: UserId): Promise<readonly RefreshGrant[]>
  /** Ends a login by its id. False if the user has no such login. */
  endById(userId: UserId, login: string): Promise<boolean>
}

export function createLogins(options: LoginsOptions): Logins {
  const { users, tokens, ids, clock, refreshRotation, logger } = options

  async function toLogin(grant: RefreshGrant, refreshToken: string, at: Millis): Promise<OpenedLogin> {
    const { userId, family: login } = grant
    const { token } = await tokens.issueAccess({ userId, login, at })
    const rememberedUntil = grant.browser?.isRemembered === true ? grant.expiresAt : undefined
    return { kind: 'logged_in', userId, accessToken: token, refreshToken, rememberedUntil }
  }

  function toRenewal(before: RefreshGrant, refreshToken: string, { at, from }: Moment): Renewal {
    if (before.replaced !== undefined) return { grant: before }
    const grant = { ...before, from }
    if (!refreshRotation && before.browser === undefined)
      return { grant: at - before.usedAt < API_LIMITS.refreshTouchMs ? before : { ...grant, usedAt: at } }
    const seed = randomBytes(SECRET_BYTES).toString('base64url')
    const tokenHash = hashOf(successorOf(refreshToken, seed))
    const successor: RefreshGrant = { ...grant, tokenHash, usedAt: at }
    return { grant: { ...grant, usedAt: at, replaced: { at, seed } }, successor }
  }

  async function endStolen({ userId, family }: RefreshGrant): Promise<void> {
    logger.warn(
      { user_id: userId, login: family },
      'a refresh token was used after it was replaced, so it may be stolen: the login is ended',
    )
    await users.dropFamily(family)
  }

  return {
    async open(user, { at, from, browser }) {
      const refreshToken = `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64url')}`
      const grant: RefreshGrant = {
        tokenHash: hashOf(refreshToken),
        userId: user.id,
        family: ids.next('fam_'),
        createdAt: at,
        usedAt: at,
        expiresAt: Millis(at + API_LIMITS.refreshAbsoluteMs),
        from,
        ...(browser === undefined ? {} : { browser }),
      }
      await users.putGrant(grant)
      return await toLogin(grant, refreshToken, at)
    },

    async renew(refreshToken, { from, isBrowser }) {
      const checked: { status: GrantStatus; at: Millis } = { status: 'void', at: clock.now() }
      const grant = await users.editGrant(hashOf(refreshToken), (before) => {
        const user = users.get(before.userId)
        checked.at = Millis(Math.max(clock.now(), user?.tokensValidFrom ?? 0))
        // by L3
        const isSame = isBrowser === (before.browser !== undefined)
        checked.status = isSame ? grantStatusOf(before, user, checked.at) : 'void'
        return checked.status === 'alive'
          ? toRenewal(before, refreshToken, { at: checked.at, from })
          : { grant: before }
      })
      if (grant === undefined) return refusalOf('void')
      if (checked.status === 'reused') await endStolen(grant)
      return checked.status === 'alive'
        ? await toLogin(grant, newestOf(users, grant, refreshToken), checked.at)
        : refusalOf(checked.status)
    },

    async end(userId, refreshToken) {
      await users.catchUp()
      const grant = users.getGrant(hashOf(refreshToken))
      // A token of another user is ignored without an error, so that the answer reveals nothing about it.
      if (grant?.userId !== userId) return
      await users.dropFamily(grant.family)
    },

    async endBrowser(refreshToken) {
      await users.catchUp()
      const grant = users.getGrant(hashOf(refreshToken))
      if (grant?.browser === undefined) return undefined
      await users.dropFamily(grant.family)
      return grant.userId
    },

    async list(userId) {
      await users.catchUp()
      const user = users.get(userId)
      return users
        .grantsOf(userId)
        .filter(
          (grant) => grant.replaced === undefined && grantStatusOf(grant, user, clock.now()) === 'alive',
        )
        .sort((a, b) => b.usedAt - a.usedAt)
    },

    async endById(userId, login) {
      await users.catchUp()
      if (!users.grantsOf(userId).some(({ family }) => family === login)) return false
      await users.dropFamily(login)
      return true
    },
  }
}

interface Moment {
  readonly at: Millis
  readonly from: LoginOrigin
}

interface Renewal {
  readonly grant: RefreshGrant
  readonly successor?: RefreshGrant
}
type GrantStatus = 'alive' | 'void' | 'expired' | 'reused'

function grantStatusOf(grant: RefreshGrant, user: User | undefined, at: Millis): GrantStatus {
  if (user === undefined || user.disabled || grant.createdAt < user.tokensValidFrom) return 'void'
  if (at >= grant.expiresAt) return 'expired'
  // by L2, before idleness: the successor may be in use although this token is not.
  const { replaced } = grant
  if (replaced !== undefined && at > replaced.at + API_LIMITS.refreshLeewayMs) return 'reused'
  return at >= grant.usedAt + API_LIMITS.refreshIdleMs ? 'expired' : 'alive'
}

function refusalOf(status: Exclude<GrantStatus, 'alive'>): Refusal {
  return status === 'expired'
    ? refused('TOKEN_EXPIRED', { message: 'the login is too old; log in again' })
    : refused('UNAUTHENTICATED', { message: 'the refresh token is not valid; log in again' })
}

/** Returns the newest refresh token that follows `refreshToken` (L2). */
function newestOf(users: Pick<Users, 'getGrant'>, { replaced }: RefreshGrant, refreshToken: string): string {
  if (replaced === undefined) return refreshToken
  const next = successorOf(refreshToken, replaced.seed)
  const grant = users.getGrant(hashOf(next))
  return grant === undefined ? next : newestOf(users, grant, next)
}

/** Derived from the token, which is not stored, and from the seed, which is not disclosed. */
function successorOf(refreshToken: string, seed: string): string {
  return `${PREFIX}${createHmac('sha256', refreshToken).update(seed).digest('base64url')}`
}

const hashOf = (token: string) => createHash('sha256').update(token).digest('base64url')
