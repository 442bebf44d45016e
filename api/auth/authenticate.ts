// From a bearer token to the user behind it, for REST and /ws alike.
import type { User, Users } from '../../engine/ports/users.ts'
import type { Millis } from '../../schemas/ids.ts'
import { type Refusal, refused } from '../http/answer.ts'
import type { Tokens } from './tokens.ts'

export type Authenticated =
  | { readonly kind: 'user'; readonly user: User; readonly expiresAt: Millis }
  | Refusal

export type Authenticate = (token: string) => Promise<Authenticated>

/** Role and groups are read from the user's record each time: a demotion counts at once. */
export function createAuthenticate({ tokens, users }: { tokens: Tokens; users: Users }): Authenticate {
  return async (token) => {
    const verified = await tokens.verifyAccess(token)
    if (verified.kind === 'void') {
      if (verified.why === 'expired')
        return refused('TOKEN_EXPIRED', { message: 'refresh it, or log in again' })
      return refused('UNAUTHENTICATED', { message: 'the token is not valid' })
    }
    const { userId, issuedAt, expiresAt } = verified.claims
    const user = users.get(userId)
    if (user === undefined || user.disabled || issuedAt < user.tokensValidFrom)
      return refused('UNAUTHENTICATED', { message: 'the token is no longer valid' })
    return { kind: 'user', user, expiresAt }
  }
}
