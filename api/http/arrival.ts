// Limits how long a body may take to arrive, and handles uploads that are answered before they have arrived.
//
// Node has one timeout for the whole server. It is used for the headers, and bodies are timed here.
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Schedule } from '../../engine/ports/schedule.ts'
import { endSocket } from '../../engine/sockets/end-socket.ts'
import { API_LIMITS } from '../limits.ts'

/** Sends `100 Continue` only when a request has been admitted, instead of before anything about it is known. */
export function delayContinue(app: FastifyInstance): void {
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
  { schedule }: { readonly schedule: Pick<Schedule, 'after'> },
): (request: FastifyRequest) => boolean {
  app.server.headersTimeout = API_LIMITS.requestTimeoutMs
  const bodies = new ArrivingBodies((raw) => tooLate(app, raw), schedule)
  app.addHook('onResponse', ({ raw }, _, done) => {
    bodies.answered(raw)
    done()
  })
  return ({ raw, routeOptions }) => {
    if (hasBody(raw) && routeOptions.config.isUpload !== true) bodies.add(raw)
    return true
  }
}

/** A body that is incomplete after this many checks is late. */
const CHECKS = 10

/** Requests whose body may be incomplete. One timer checks all of them, because a timer and listeners for each would cost
 *  every request several microseconds. */
class ArrivingBodies {
  readonly #checks = new Map<IncomingMessage, number>()
  readonly #onLate: (request: IncomingMessage) => void
  readonly #schedule: Pick<Schedule, 'after'>
  #isWatched = false

  constructor(onLate: (request: IncomingMessage) => void, schedule: Pick<Schedule, 'after'>) {
    this.#onLate = onLate
    this.#schedule = schedule
  }

  add(request: IncomingMessage): void {
    this.#checks.set(request, 0)
    this.#watch()
  }

  /** The answer may be complete before the body has arrived. The request is then still watched. */
  answered(request: IncomingMessage): void {
    if (!isArriving(request)) this.#checks.delete(request)
  }

  #watch(): void {
    if (this.#isWatched || this.#checks.size === 0) return
    this.#isWatched = true
    this.#schedule.after(API_LIMITS.requestTimeoutMs / CHECKS, () => {
      this.#isWatched = false
      this.#check()
      this.#watch()
    })
  }

  #check(): void {
    for (const [request, checks] of this.#checks) {
      if (isArriving(request) && checks < CHECKS) this.#checks.set(request, checks + 1)
      else {
        this.#checks.delete(request)
        if (isArriving(request)) this.#onLate(request)
      }
    }
  }
}

/** A request without a socket has no `complete`. */
const isArriving = ({ complete, destroyed }: IncomingMessage) => complete === false && !destroyed

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** Emits the error that Node itself emits for a request that took too long. */
function tooLate(app: FastifyInstance, { socket }: IncomingMessage): void {
  const error = Object.assign(new Error('the body came too late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
  app.server.emit('clientError', error, socket)
}

/**
 * Closes the connection of an upload after its answer if part of the body is still to come. That part is read and dropped
 * for a moment. Otherwise the connection would be reset, and the reset could overtake the answer.
 */
export function endAfterAnswer({ raw }: FastifyRequest): boolean {
  if (raw.complete || raw.destroyed) return false
  const { socket } = raw
  socket.destroySoon = () => endSocket(socket, '')
  raw.resume()
  return true
}
