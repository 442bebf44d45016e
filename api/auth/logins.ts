// Logins that may be renewed: a refresh token of 256 random bits, of which only the SHA-256 is kept.
import { createHash, randomBytes } from 'node:crypto'
import { LIMITS } from '../../engine/limits.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { RefreshGrant, User, Users } from '../../engine/ports/users.ts'
import { Millis } from '../../schemas/ids.ts'
import { type Refusal, refused } from '../http/answer.ts'
import type { Ids } from '../ids.ts'
import type { LoggedIn } from './accounts.ts'
import type { Tokens } from './tokens.ts'

const SECRET_BYTES = 32
const PREFIX = 'rt_'

export interface Logins {
  open(user: User): Promise<LoggedIn>
  renew(refreshToken: string): Promise<LoggedIn | Refusal>
  end(user: User, refreshToken: string | undefined): Promise<void>
}

export function createLogins(options: {
  readonly users: Users
  readonly tokens: Tokens
  readonly ids: Ids
  readonly clock: Clock
}): Logins {
  const { users, tokens, ids, clock } = options

  async function loggedIn(user: User, refreshToken: string): Promise<LoggedIn> {
    const { token } = await tokens.issueAccess({ userId: user.id, validFrom: user.tokensValidFrom })
    return { kind: 'logged_in', userId: user.id, accessToken: token, refreshToken }
  }

  return {
    async open(user) {
      const refreshToken = `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64url')}`
      const now = clock.now()
      await users.putGrant({
        tokenHash: hashOf(refreshToken),
        userId: user.id,
        family: ids.next('fam_'),
        createdAt: now,
        usedAt: now,
        expiresAt: Millis(now + LIMITS.refreshAbsoluteMs),
      })
      return await loggedIn(user, refreshToken)
    },

    async renew(refreshToken) {
      const grant = users.getGrant(hashOf(refreshToken))
      const user = grant === undefined ? undefined : users.get(grant.userId)
      const now = clock.now()
      if (grant === undefined || user === undefined || user.disabled)
        return refused('UNAUTHENTICATED', { message: 'the refresh token is not valid' })
      if (!isAlive(grant, now))
        return refused('TOKEN_EXPIRED', { message: 'the login is too old; log in again' })
      // No await since the grant was read: a logout cannot be undone by this write.
      if (now - grant.usedAt >= LIMITS.refreshTouchMs) await users.putGrant({ ...grant, usedAt: now })
      return await loggedIn(user, refreshToken)
    },

    async end(user, refreshToken) {
      if (refreshToken === undefined) return await users.dropGrants({ userId: user.id })
      const grant = users.getGrant(hashOf(refreshToken))
      // Somebody else's token is nothing to this user, and no error: it tells nothing about it.
      if (grant?.userId === user.id) await users.dropGrants({ family: grant.family })
    },
  }
}

function isAlive({ usedAt, expiresAt }: RefreshGrant, now: Millis): boolean {
  return now < expiresAt && now < usedAt + LIMITS.refreshIdleMs
}

const hashOf = (token: string) => createHash('sha256').update(token).digest('base64url')
