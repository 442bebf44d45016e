// Refusals of the API. Their codes determine status and advice, see `schemas/refusals.ts`.
import { type Refusal, refused } from '../schemas/refusals.ts'
import type { Role } from '../schemas/vocabulary.ts'

export { type Refusal, refused }

/** The message of a 403 FORBIDDEN: the roles that would do, and the one that the caller has. */
export function roleNeeded(roles: readonly Role[], role: Role): string {
  return `needs the role ${roles.join(' or ')}; yours is ${role}`
}

/** A 422 for a wrong field, with the field's path. */
export function invalid(
  path: string,
  error: { readonly code: string; readonly message: string; readonly in?: 'body' | 'query' },
): Refusal {
  return refused('VALIDATION_FAILED', {
    message: `${path}: ${error.message}`,
    errors: [{ path, in: error.in ?? 'body', code: error.code, message: error.message }],
  })
}
