/** Why a server cannot listen, and what to do about it. Undefined for other errors. `port` is a text that names it. */
export function listenProblem(
  error: unknown,
  { host, port, setting }: { readonly host: string; readonly port: string; readonly setting: string },
): string | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  switch (code) {
    case 'EADDRINUSE':
      return `${port} is in use; set ${setting} to another one`
    case 'EACCES':
      return `${port} needs more rights; set ${setting} to one above 1023`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `this machine has no address ${host}; set FLEET_HOST to one it has`
    default:
      return undefined
  }
}
