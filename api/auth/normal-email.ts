/** Whitespace around an address is a slip; letter case has no meaning. */
export function normalEmail(email: string): string {
  return email.trim().toLowerCase()
}
