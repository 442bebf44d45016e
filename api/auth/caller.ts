// A caller: a person with a login or a service with a key.
import type { User } from '../../engine/ports/users.ts'

export interface Caller extends Pick<User, 'id' | 'name' | 'role' | 'groups' | 'createdAt' | 'lastLoginAt'> {
  /** Undefined if the caller is a service. */
  readonly email: string | undefined
}
