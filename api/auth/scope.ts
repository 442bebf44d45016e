// Which groups a user may see: an admin sees all, others see the subtrees they were granted.
import type { User } from '../../engine/ports/users.ts'

/** The group subtrees that a user is limited to; undefined means no limit. */
export function scopeOf(user: Pick<User, 'role' | 'groups'>): readonly string[] | undefined {
  return user.role === 'admin' || user.groups.length === 0 ? undefined : user.groups
}

/** Matches at `/` boundaries: `a` covers `a` and `a/b`, not `ab`. A device without a group is in no subtree. */
export function isInScope(group: string | undefined, scope: readonly string[] | undefined): boolean {
  if (scope === undefined) return true
  if (group === undefined) return false
  return scope.some((root) => group === root || group.startsWith(`${root}/`))
}
