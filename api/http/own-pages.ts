// Distinguishes requests from the service's own pages from those of other pages in the same browser.
import type { FastifyRequest } from 'fastify'
import { type Refusal, refused } from '../refusal.ts'

type RequestOrigin = Pick<FastifyRequest, 'headers' | 'protocol' | 'host'>

/** Returns undefined for a page of this service. Browsers send `Sec-Fetch-Site` over TLS and on loopback, and scripts can
 *  set neither this header nor `Origin`. */
export function refuseForeignRequest(request: RequestOrigin, publicUrl: string): Refusal | undefined {
  const { 'sec-fetch-site': site, origin } = request.headers
  const isOwn =
    site === undefined
      ? origin !== undefined && ownOrigins(request, publicUrl).includes(origin)
      : site === 'same-origin'
  return isOwn
    ? undefined
    : refused('FORBIDDEN', { message: 'only pages of this service itself may ask this' })
}

/** True if the browser used TLS to reach the service, or a proxy in front of it. */
export function isSecure(request: RequestOrigin, publicUrl: string): boolean {
  if (request.protocol === 'https') return true
  const publicAddress = parseUrl(publicUrl)
  return publicAddress?.protocol === 'https:' && publicAddress.host === request.host.toLowerCase()
}

function ownOrigins({ protocol, host }: RequestOrigin, publicUrl: string): readonly string[] {
  const requestOrigin = parseUrl(`${protocol}://${host}`)?.origin
  const publicOrigin = parseUrl(publicUrl)?.origin
  return [requestOrigin, publicOrigin].filter((origin) => origin !== undefined)
}

const parseUrl = (url: string): URL | undefined => (URL.canParse(url) ? new URL(url) : undefined)
