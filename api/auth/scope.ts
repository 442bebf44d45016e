// Which groups a user may see: an admin sees all, others see the subtrees they were granted.
import { isInScope } from '../../engine/domain/group-scope.ts'
import type { User } from '../../engine/ports/users.ts'

export { isInScope }

/** The group subtrees that a user is limited to; undefined means no limit. */
export function scopeOf(user: Pick<User, 'role' | 'groups'>): readonly string[] | undefined {
  return user.role === 'admin' || user.groups.length === 0 ? undefined : user.groups
}

/** Whether a device of this subtree can be in one of those: it lies within one, or around one. */
export function sharesDevices(group: string, scope: readonly string[]): boolean {
  return isInScope(group, scope) || scope.some((root) => isInScope(root, [group]))
}
