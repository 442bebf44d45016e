// How long a body may take to arrive, and what becomes of an upload that is answered before it has arrived.
//
// Node's own bound is one for the whole server, so it watches over headers alone, and bodies are watched here.
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { endSocket } from '../../engine/sockets/end-socket.ts'
import { API_LIMITS } from '../limits.ts'

/** Sends `100 Continue` once a request is admitted, instead of before anything is known of it. */
export function continueLate(app: FastifyInstance): void {
  const waiting = new WeakSet<IncomingMessage>()
  app.server.on('checkContinue', (request, response) => {
    waiting.add(request)
    app.server.emit('request', request, response)
  })
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (waiting.delete(request.raw)) reply.raw.writeContinue()
    done(null, payload)
  })
}

export function boundArrival(
  app: FastifyInstance,
): (request: FastifyRequest, reply: FastifyReply) => boolean {
  app.server.headersTimeout = API_LIMITS.requestTimeoutMs
  return ({ raw, routeOptions }, reply) => {
    if (hasBody(raw) && routeOptions.config.isUpload !== true) {
      const timer = setTimeout(() => tooLate(app, raw), API_LIMITS.requestTimeoutMs)
      timer.unref()
      const stop = () => clearTimeout(timer)
      raw.once('end', stop).once('close', stop)
      // An answer may overtake the body, which then still has to arrive. A request without a socket has no `complete`.
      reply.raw.once('finish', () => {
        if (raw.complete !== false) stop()
      })
    }
    return true
  }
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** Does what Node does with a request that is late as a whole. */
function tooLate(app: FastifyInstance, { socket }: IncomingMessage): void {
  const error = Object.assign(new Error('the body came too late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
  app.server.emit('clientError', error, socket)
}

/**
 * Has the connection of an upload end after its answer if there is more to come. What still comes is dropped for a moment
 * instead of answered with a reset, which would overtake the answer.
 */
export function endAfterAnswer({ raw }: FastifyRequest): boolean {
  if (raw.complete || raw.destroyed) return false
  const { socket } = raw
  socket.destroySoon = () => endSocket(socket, '')
  raw.resume()
  return true
}
