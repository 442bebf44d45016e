// Whether two texts name the same version of a firmware. The service and the devices compare by the same rule, so that a
// device does not install what the service takes for what it runs.

/** One leading `v` and white space make no difference. */
export function isSameVersion(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && plain(a) === plain(b)
}

function plain(version: string): string {
  const text = version.trim()
  return /^v/i.test(text) ? text.slice(1).trim() : text
}
