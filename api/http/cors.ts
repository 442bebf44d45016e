// Decides which pages of other origins may use the API from a browser. Tokens travel in a header, never in a cookie, so
// nothing is ever allowed "with credentials".
import type { FastifyReply, FastifyRequest } from 'fastify'

const ANY = '*'
const EXPOSED = [
  'ETag',
  'Idempotency-Replayed',
  'Link',
  'Location',
  'Preference-Applied',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'X-Request-Id',
  'X-Total-Count',
].join(', ')
const ACCEPTED = [
  'Accept',
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'Prefer',
  'X-Request-Id',
].join(', ')
const PREFLIGHT_SEC = 600

export interface Cors {
  /** Sets the CORS headers that every answer carries. */
  setHeaders(request: FastifyRequest, reply: FastifyReply): void
  /** Sets the additional headers of the answer to a preflight request. */
  preflight(request: FastifyRequest, reply: FastifyReply, methods: readonly string[]): void
}

/** Origins as browsers send them, or `*` for all. */
export function createCors(origins: readonly string[]): Cors {
  const allowed = new Set(origins)
  const isAny = allowed.has(ANY)
  const isAllowed = (origin: string | undefined): origin is string =>
    origin !== undefined && (isAny || allowed.has(origin))
  return {
    setHeaders({ headers: { origin } }, reply) {
      if (allowed.size === 0) return
      // Set even if the request has no origin, so that a cache does not serve this answer to a page of another origin.
      if (!isAny) reply.header('vary', 'Origin')
      if (!isAllowed(origin)) return
      reply.header('access-control-allow-origin', isAny ? ANY : origin)
      reply.header('access-control-expose-headers', EXPOSED)
    },

    preflight({ headers }, reply, methods) {
      if (!isAllowed(headers.origin) || headers['access-control-request-method'] === undefined) return
      reply.header('access-control-allow-methods', methods.join(', '))
      reply.header('access-control-allow-headers', ACCEPTED)
      reply.header('access-control-max-age', String(PREFLIGHT_SEC))
    },
  }
}
