/** Matches at `/` boundaries: `a` covers `a` and `a/b`, not `ab`. A device without a group is in no subtree. Undefined
 *  subtrees mean no limit. */
export function isInScope(group: string | undefined, scope: readonly string[] | undefined): boolean {
  if (scope === undefined) return true
  if (group === undefined) return false
  return scope.some((root) => group === root || group.startsWith(`${root}/`))
}
