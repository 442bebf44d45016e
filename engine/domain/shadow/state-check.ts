// Whether a state, or a patch for one, may be stored. Iterates instead of recursing, because the sender decides the depth
// and the stack is limited.
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { FieldError } from '../../../schemas/problem.ts'
import { LIMITS } from '../../limits.ts'

const HALF_PAIR = /\p{Surrogate}/u

interface StateNode {
  readonly value: Json
  readonly path: string
  readonly depth: number
}

/** Returns the first mistakes, or none. */
export function checkState(state: JsonObject): readonly FieldError[] {
  const errors: FieldError[] = []
  const pending: StateNode[] = [{ value: state, path: '', depth: 1 }]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const { value, path, depth } = node
    if (errors.length >= LIMITS.validationErrorsMax) break
    if (typeof value === 'number' && !Number.isFinite(value))
      errors.push({ path, code: 'OUT_OF_RANGE', message: 'is not a finite number' })
    else if (typeof value === 'string' && HALF_PAIR.test(value))
      errors.push({ path, code: 'WRONG_FORMAT', message: 'holds half a surrogate pair' })
    else if (typeof value === 'object' && value !== null) {
      if (depth > LIMITS.shadowDepthMax)
        errors.push({ path, code: 'TOO_DEEP', message: `is nested deeper than ${LIMITS.shadowDepthMax}` })
      else pushChildren(node, pending, errors)
    }
  }
  return errors
}

function pushChildren({ value, path, depth }: StateNode, pending: StateNode[], errors: FieldError[]): void {
  const isArray = Array.isArray(value)
  for (const [key, inner] of Object.entries(value ?? {})) {
    const pointer = `${path}/${key.slice(0, LIMITS.shadowKeyCharsMax).replace(/~/g, '~0').replace(/\//g, '~1')}`
    const mistake = isArray ? undefined : keyMistake(key)
    if (mistake === undefined) pending.push({ value: inner, path: pointer, depth: depth + 1 })
    else if (errors.length < LIMITS.validationErrorsMax) errors.push({ path: pointer, ...mistake })
  }
}

function keyMistake(key: string): { readonly code: string; readonly message: string } | undefined {
  if (key === '') return { code: 'TOO_SHORT', message: 'a key is not empty' }
  if (key.length > LIMITS.shadowKeyCharsMax)
    return { code: 'TOO_LONG', message: `a key has at most ${LIMITS.shadowKeyCharsMax} characters` }
  // Such a key could not be read back as it was stored.
  if (key === '__proto__' || HALF_PAIR.test(key))
    return { code: 'WRONG_FORMAT', message: 'this key cannot be kept' }
  return undefined
}
