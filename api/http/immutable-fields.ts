// Fields that answers contain and requests cannot change. A client may send them back exactly as it read them.
import { type Refusal, refused } from '../refusal.ts'

/** Refuses a body that changes one of these fields, naming the first of them. */
export function refuseChangedFields(
  body: object,
  current: Readonly<Record<string, string>>,
): Refusal | undefined {
  const sent = new Map<string, unknown>(Object.entries(body))
  for (const [name, value] of Object.entries(current)) {
    if (!sent.has(name) || sent.get(name) === value) continue
    const message = 'cannot be changed: leave it out, or send it as it was read'
    const error = { path: `/${name}`, in: 'body', code: 'IMMUTABLE_FIELD', message }
    return refused('IMMUTABLE_FIELD', { message: `/${name}: ${message}`, errors: [error] })
  }
  return undefined
}
