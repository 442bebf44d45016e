// People who use the REST API. Their passwords are kept as argon2id hashes only.
import type { Millis, UserId } from '../../schemas/ids.ts'
import type { Role } from '../../schemas/vocabulary.ts'

export interface User {
  readonly id: UserId
  /** Lower case: e-mail addresses are compared without regard to case. */
  readonly email: string
  readonly name: string
  readonly role: Role
  /** Group subtrees of an operator; empty is everything. */
  readonly groups: readonly string[]
  readonly passwordHash: string
  readonly disabled: boolean
  readonly createdAt: Millis
  readonly lastLoginAt: Millis | undefined
  /** Access tokens issued before this instant are void. */
  readonly tokensValidFrom: Millis
}

/** A login that may be renewed. Only the SHA-256 of the refresh token is kept. */
export interface RefreshGrant {
  readonly tokenHash: string
  readonly userId: UserId
  readonly family: string
  readonly createdAt: Millis
  readonly usedAt: Millis
  readonly expiresAt: Millis
}

export interface Users {
  get(id: UserId): User | undefined
  getByEmail(email: string): User | undefined
  count(): number
  list(): readonly User[]
  /** Refuses (false) when the e-mail is taken by another user, or `onlyIfNone` is set and there is a user.
   *  The check and the write are one step. Durable when resolved. */
  put(user: User, options?: { readonly onlyIfNone?: boolean }): Promise<boolean>
  putGrant(grant: RefreshGrant): Promise<void>
  getGrant(tokenHash: string): RefreshGrant | undefined
  dropGrants(which: { readonly userId: UserId } | { readonly family: string }): Promise<void>
}
