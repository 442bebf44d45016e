// Fields that an answer shows and a request cannot change. What was read, changed elsewhere and sent back has them.
import { type Refusal, refused } from '../refusal.ts'

/** Refuses the first of these fields that a body has with another value than it was shown with. */
export function changedShown(body: object, shown: Readonly<Record<string, string>>): Refusal | undefined {
  const sent = new Map<string, unknown>(Object.entries(body))
  for (const [name, value] of Object.entries(shown)) {
    if (!sent.has(name) || sent.get(name) === value) continue
    const message = 'cannot be changed: leave it out, or send it as it was read'
    const error = { path: `/${name}`, in: 'body', code: 'IMMUTABLE_FIELD', message }
    return refused('IMMUTABLE_FIELD', { message: `/${name}: ${message}`, errors: [error] })
  }
  return undefined
}
