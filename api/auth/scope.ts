// Which groups a user may see: an admin all of them, others the subtrees they were given.
import type { User } from '../../engine/ports/users.ts'

/** The group subtrees a user is limited to; undefined is no limit. */
export function scopeOf(user: Pick<User, 'role' | 'groups'>): readonly string[] | undefined {
  return user.role === 'admin' || user.groups.length === 0 ? undefined : user.groups
}

/** Matches at `/` boundaries: `a` covers `a` and `a/b`, not `ab`. A device without a group is in no subtree. */
export function isInScope(group: string | undefined, scope: readonly string[] | undefined): boolean {
  if (scope === undefined) return true
  if (group === undefined) return false
  return scope.some((root) => group === root || group.startsWith(`${root}/`))
}
