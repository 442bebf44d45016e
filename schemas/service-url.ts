// Where what listens is found.

/** "Any address" is no place to go to: it is told as this machine. */
export function serviceUrl(
  scheme: 'http' | 'https' | 'mqtt' | 'mqtts' | 'wss',
  { host, port }: { readonly host: string; readonly port: number },
): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `${scheme}://${name.includes(':') ? `[${name}]` : name}:${port}`
}
