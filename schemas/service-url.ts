// The URL at which a listening service can be reached.

/** Replaces a wildcard address by that of this machine, because nobody can connect to a wildcard. */
export function serviceUrl(
  scheme: 'http' | 'https' | 'mqtt' | 'mqtts' | 'wss',
  { host, port }: { readonly host: string; readonly port: number },
): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `${scheme}://${name.includes(':') ? `[${name}]` : name}:${port}`
}
