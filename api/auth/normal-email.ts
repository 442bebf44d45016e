/** Removes whitespace around the address and ignores letter case. */
export function normalEmail(email: string): string {
  return email.trim().toLowerCase()
}
