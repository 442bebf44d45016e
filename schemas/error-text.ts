/** The message of a thrown value, which need not be an Error if it comes from a library. */
export function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** The same for `fetch`, whose message `fetch failed` says nothing, but its cause does. */
export function fetchErrorText(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown
  // Node's system errors have a code, and nothing else if all addresses of a name were tried in vain.
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return typeof code === 'string' ? code : errorText(cause)
}
