/** What a thrown value says. Anything can be thrown, and what other people's code throws need not be an error. */
export function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
