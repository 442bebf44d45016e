// The URL at which a service that listens can be reached.

/** A wildcard address becomes this machine's, because nobody can connect to "any". */
export function serviceUrl(
  scheme: 'http' | 'https' | 'mqtt' | 'mqtts' | 'wss',
  { host, port }: { readonly host: string; readonly port: number },
): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `${scheme}://${name.includes(':') ? `[${name}]` : name}:${port}`
}
