// Addresses of servers in settings: `scheme://user:password@host:port`.

export interface Address {
  readonly scheme: string
  /** Host name, with the port if there is one. */
  readonly host: string
  readonly user: string | undefined
  readonly password: string | undefined
}

/** Undefined if the text is not an address. */
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
    // There is an invalid `%` escape. A `%` in a password is written `%25`.
    return undefined
  }
}

/** The address without user, password and anything else that may be secret. */
export function shownAddress(text: string): string {
  const address = parseAddress(text)
  return address === undefined ? 'an address' : `${address.scheme}://${address.host}`
}

function decoded(text: string): string | undefined {
  return text === '' ? undefined : decodeURIComponent(text)
}
