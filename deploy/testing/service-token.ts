/** Returns the password of one of Fleet's accounts at EMQX, as deploy/secrets.mjs makes it. */
export async function serviceToken(user: string, key: string): Promise<string> {
  const deploy = new URL(import.meta.url.includes('/dist/') ? '../../../deploy/' : '../', import.meta.url)
  // This script is not part of the build, because operators run it without one.
  const secrets = (await import(new URL('secrets.mjs', deploy).href)) as {
    serviceToken(name: string, signingKey: string): string
  }
  return secrets.serviceToken(user, key)
}
