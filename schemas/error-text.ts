/** The message of a thrown value, which need not be an Error if it comes from a library. */
export function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** The same for `fetch`, whose message `fetch failed` says nothing, but its cause does. */
export function fetchErrorText(thrown: unknown): string {
  const cause = thrown instanceof Error ? thrown.cause : undefined
  if (!(cause instanceof Error)) return errorText(thrown)
  // If all addresses of a name were tried in vain, there is only a code.
  const { code } = cause as { code?: unknown }
  return cause.message || String(code)
}
