// What the API returns to callers about themselves.
import type { Me } from '../../schemas/auth.ts'
import { toIso } from '../../schemas/ids.ts'
import type { Caller } from '../auth/caller.ts'
import { isoOrNull } from '../bodies/iso-or-null.ts'

export function meBody({ id, email, name, role, groups, createdAt, lastLoginAt }: Caller): Me {
  return {
    id,
    email: email ?? null,
    name,
    role,
    groups: [...groups],
    created_at: toIso(createdAt),
    last_login_at: isoOrNull(lastLoginAt),
  }
}
