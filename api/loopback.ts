// Decides what counts as this machine. It is the only place that does, because the answer decides who may register.

/** `localhost` or a loopback address, in lower case. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/** The same for an address reported by a socket, which may be an IPv4 address in IPv6 form. */
export function isLoopbackAddress(ip: string): boolean {
  return isLoopback(ip.replace(/^::ffff:/, ''))
}
