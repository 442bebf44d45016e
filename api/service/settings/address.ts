// Addresses of servers, as settings give them: `scheme://user:password@host:port`.

export interface Address {
  readonly scheme: string
  /** With its port, if it has one. */
  readonly host: string
  readonly user: string | undefined
  readonly password: string | undefined
}

/** Undefined if it is none. */
export function parseAddress(text: string): Address | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, host, username, password } = new URL(text)
  if (host === '') return undefined
  try {
    return {
      scheme: protocol.slice(0, -1),
      host,
      user: decoded(username),
      password: decoded(password),
    }
  } catch {
    // A `%` that begins nothing: one in a password is written `%25`.
    return undefined
  }
}

/** For people to read: without user and password, and whatever else may be secret. */
export function shownAddress(text: string): string {
  const address = parseAddress(text)
  return address === undefined ? 'an address' : `${address.scheme}://${address.host}`
}

function decoded(text: string): string | undefined {
  return text === '' ? undefined : decodeURIComponent(text)
}
