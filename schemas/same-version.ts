// Compares firmware versions. The service and the devices use the same rule, so that a device does not install a version
// that the service considers to be the one it already runs.

/** Ignores a leading `v` and white space. */
export function isSameVersion(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && plain(a) === plain(b)
}

function plain(version: string): string {
  const text = version.trim()
  return /^v/i.test(text) ? text.slice(1).trim() : text
}
