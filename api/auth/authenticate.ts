// Finds the caller that a bearer token belongs to, for REST and /ws.

import type { Clock } from '../../engine/ports/clock.ts'
import type { Users } from '../../engine/ports/users.ts'
import type { Millis } from '../../schemas/ids.ts'
import { API_LIMITS } from '../limits.ts'
import { mapMaybeAsync } from '../map-maybe-async.ts'
import { type Refusal, refused } from '../refusal.ts'
import { type ApiKeys, isApiKey } from './api-keys.ts'
import type { Caller } from './caller.ts'
import type { AccessClaims, Tokens, Verification } from './tokens.ts'

export type Authentication =
  | {
      readonly kind: 'user'
      readonly user: Caller
      /** Undefined if it never expires. */
      readonly expiresAt: Millis | undefined
      /** Looks the caller up again during a long operation. Resolves with undefined once the token is void. */
      current(): Caller | undefined
    }
  | Refusal

/** Synchronous for a caller whose token was verified before. */
export type Authenticate = (token: string) => Authentication | Promise<Authentication>

export interface AuthenticateOptions {
  readonly tokens: Pick<Tokens, 'verifyAccess'>
  readonly apiKeys: Pick<ApiKeys, 'find'>
  readonly users: Pick<Users, 'get' | 'hasFamily' | 'catchUp' | 'freshen'>
  readonly clock: Pick<Clock, 'now'>
}

/** Role and groups are read from the record each time, so a change takes effect at once. */
export function createAuthenticate({ tokens, apiKeys, users, clock }: AuthenticateOptions): Authenticate {
  const userOf = ({ userId, issuedAt, login }: AccessClaims): Caller | undefined => {
    const user = users.get(userId)
    if (user === undefined || user.disabled || issuedAt < user.tokensValidFrom) return undefined
    // A token issued in the future is valid only if the clock was set back after the user's tokens became valid.
    if (issuedAt > Math.max(clock.now() + API_LIMITS.clockLeewayMs, user.tokensValidFrom)) return undefined
    return login === undefined || users.hasFamily(login) ? user : undefined
  }
  const admit = (
    current: () => Caller | undefined,
    expiresAt: Millis | undefined,
  ): Authentication | Promise<Authentication> => {
    // Includes revocations that another node wrote while this one was paused.
    const freshened = users.freshen()
    const user = freshened === undefined ? current() : undefined
    if (user !== undefined) return { kind: 'user', user, expiresAt, current }
    return admitAfterCatchUp(current, expiresAt, freshened)
  }
  const admitAfterCatchUp = async (
    current: () => Caller | undefined,
    expiresAt: Millis | undefined,
    freshened: Promise<void> | undefined,
  ): Promise<Authentication> => {
    await freshened
    let user = current()
    if (user === undefined) {
      // The login may just have happened on another node.
      await users.catchUp()
      user = current()
    }
    if (user === undefined) return refused('UNAUTHENTICATED', { message: NOT_VALID })
    return { kind: 'user', user, expiresAt, current }
  }
  const authenticateKey = async (token: string): Promise<Authentication> => {
    const key = apiKeys.find(token) ?? (await users.catchUp().then(() => apiKeys.find(token)))
    if (key === undefined) return refused('UNAUTHENTICATED', { message: NOT_VALID })
    if (key.expiresAt !== undefined && key.expiresAt <= clock.now())
      return refused('TOKEN_EXPIRED', { message: 'the API key has expired; ask an admin for another' })
    return await admit(key.current, key.expiresAt)
  }
  const authenticateClaims = (verified: Verification<AccessClaims>) => {
    if (verified.kind === 'valid') return admit(() => userOf(verified.claims), verified.claims.expiresAt)
    if (verified.why === 'expired')
      return refused('TOKEN_EXPIRED', { message: 'refresh it, or log in again' })
    return refused('UNAUTHENTICATED', { message: NOT_VALID })
  }
  return (token) => {
    if (isApiKey(token)) return authenticateKey(token)
    return mapMaybeAsync(tokens.verifyAccess(token), authenticateClaims)
  }
}

/** Always the same message, which does not reveal why a token is refused. */
const NOT_VALID = 'the token is not valid'
