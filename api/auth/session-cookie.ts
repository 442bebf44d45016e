// The cookie that holds a browser's refresh token.
//
// C1. Its name identifies the service, because browsers do not separate the cookies of different ports of a host.
// - It is sent only to the session endpoints, and only by pages of the same site. Ports of a host are the same site, so
//   those endpoints also check where a request comes from (http/own-pages.ts).
import { createHash } from 'node:crypto'
import { API } from '../../schemas/operation.ts'

export interface SessionCookie {
  /** The token in a `Cookie` header. */
  read(header: string | undefined): string | undefined
  /** The value of `Set-Cookie`. Without `maxAgeSec`, closing the browser removes the cookie. */
  write(token: string, about: { readonly isSecure: boolean; readonly maxAgeSec: number | undefined }): string
  /** The value of `Set-Cookie` that removes the cookie. */
  remove(about: { readonly isSecure: boolean }): string
}

const MARK_CHARS = 8
const PATH = `${API}/auth/session`
const TOKEN = /^[\w-]{1,256}$/

export function sessionCookie(signingKeyId: string): SessionCookie {
  // By C1
  const name = `fleet_session_${createHash('sha256').update(signingKeyId).digest('hex').slice(0, MARK_CHARS)}`
  const attributes = (isSecure: boolean) =>
    `HttpOnly; SameSite=Strict; Path=${PATH}${isSecure ? '; Secure' : ''}`
  return {
    read(header = '') {
      for (const part of header.split(';')) {
        const [key, value = ''] = part.trim().split('=', 2)
        if (key === name && TOKEN.test(value)) return value
      }
      return undefined
    },
    write(token, { isSecure, maxAgeSec }) {
      const age = maxAgeSec === undefined ? '' : `; Max-Age=${maxAgeSec}`
      return `${name}=${token}; ${attributes(isSecure)}${age}`
    },
    remove: ({ isSecure }) => `${name}=; ${attributes(isSecure)}; Max-Age=0`,
  }
}
