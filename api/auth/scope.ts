// Which groups a user may see: an admin sees all, others see the subtrees they were granted.
import type { User } from '../../engine/ports/users.ts'

export { isInScope } from '../../engine/domain/group-scope.ts'

/** The group subtrees that a user is limited to; undefined means no limit. */
export function scopeOf(user: Pick<User, 'role' | 'groups'>): readonly string[] | undefined {
  return user.role === 'admin' || user.groups.length === 0 ? undefined : user.groups
}
