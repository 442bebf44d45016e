// What counts as this very machine: the one place for a question that decides who may register.

/** `localhost` or a loopback address, in lower case. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/** The same for an address as a socket gives it, which may be IPv4 in the form of IPv6. */
export function isLoopbackAddress(ip: string): boolean {
  return isLoopback(ip.replace(/^::ffff:/, ''))
}
