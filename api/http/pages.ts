// Pages for people and their assets: files in memory that are not part of the REST API.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isLoopbackAddress } from '../loopback.ts'
import { hostOf } from './known-hosts.ts'
import { pathOf } from './problems.ts'

export interface PageRequest {
  readonly path: string
  readonly headers: FastifyRequest['headers']
  /** True over TLS or on loopback. Elsewhere browsers ignore the headers that isolate a page, and log a complaint. */
  readonly isTrustworthy: boolean
}

export interface PageAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array
}

export interface Pages {
  /** The build of the dashboard. Every answer names it, so that an open page notices a newer one. */
  readonly build: string | undefined
  /** Undefined if there is no such page. */
  answer(request: PageRequest): PageAnswer | undefined
}

/** Undefined if there is no such page, and nothing has been sent. */
export function sendPage(
  pages: Pages,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined {
  const { method, headers, protocol } = request
  if (method !== 'GET' && method !== 'HEAD') return undefined
  const isTrustworthy = protocol === 'https' || isLoopbackAddress(hostOf(headers.host ?? ''))
  const page = pages.answer({ path: pathOf(request.url), headers, isTrustworthy })
  if (page === undefined) return undefined
  const { vary, ...others } = page.headers
  const before = reply.getHeader('vary')
  if (vary !== undefined) reply.header('vary', before === undefined ? vary : `${String(before)}, ${vary}`)
  return reply
    .code(page.status)
    .headers(others)
    .send(method === 'HEAD' ? undefined : page.bytes)
}
