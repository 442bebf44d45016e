// Sends the answer of a handler.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Answer, FileAnswer } from './answer.ts'

export function sendAnswer(reply: FastifyReply, { status, body, headers }: Answer): FastifyReply {
  reply.code(status)
  const isReady = typeof body === 'string' || body === undefined || body instanceof Uint8Array
  if (!isReady) reply.type('application/json; charset=utf-8')
  if (headers !== undefined) addHeaders(reply, headers)
  return reply.send(isReady ? body : JSON.stringify(body))
}

export function sendFile(
  { method }: FastifyRequest,
  reply: FastifyReply,
  { type, name, bytes }: FileAnswer,
): FastifyReply {
  addHeaders(reply, {
    'content-type': type,
    'content-disposition': `attachment; filename="${name}"`,
    'cache-control': 'no-store',
    vary: 'accept',
  })
  if (method !== 'HEAD') return reply.send(bytes)
  bytes.destroy()
  return reply.send()
}

/** Appends to `vary` instead of replacing it, because CORS has already set it. */
function addHeaders(reply: FastifyReply, headers: Readonly<Record<string, string>>): void {
  const before = reply.getHeader('vary')
  reply.headers(headers)
  const { vary } = headers
  if (before !== undefined && vary !== undefined) reply.header('vary', `${String(before)}, ${vary}`)
}
