/** Ends every switch over a union: a new member breaks the build in each place that must care. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`)
}
