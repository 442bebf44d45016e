/** Ends every switch over a union, so that a new member breaks the build wherever it must be handled. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`)
}
