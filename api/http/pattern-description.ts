// Describes in words what a text should look like, where its pattern would not help the caller.
import { LINE_PATTERN } from '../../schemas/auth.ts'
import { EXPECTED } from '../../schemas/json-schema.ts'

/** The schema of the field whose text does not match. */
export interface PatternSchema {
  readonly pattern?: string
  readonly examples?: readonly unknown[]
  readonly [EXPECTED]?: string
}

export function describePattern({
  pattern = '',
  examples = [],
  [EXPECTED]: expected,
}: PatternSchema): string {
  if (expected !== undefined) return expected
  if (pattern === LINE_PATTERN)
    return 'must be one line of text that is not blank, without control characters'
  const [example] = examples
  return typeof example === 'string'
    ? `has another form than is expected here; ${JSON.stringify(example)} would be right`
    : `must match the pattern ${pattern}`
}
