/** The message of a thrown value, which need not be an Error if it comes from a library. */
export function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
