// Calls the handler of a request, once even if the request is sent again with the same Idempotency-Key.
import type { FastifyRequest } from 'fastify'
import type { Authentication } from '../auth/authenticate.ts'
import type { Caller } from '../auth/caller.ts'
import { isLoopbackAddress } from '../loopback.ts'
import { authorshipOf } from './audit.ts'
import { authenticate } from './gate.ts'
import { hostOf } from './known-hosts.ts'
import { isSecure } from './own-pages.ts'
import type { RepeatKey } from './repeats.ts'
import type { Call, Route } from './route.ts'
import type { Services } from './services.ts'

/** Runs the handler of a request that has been admitted and validated. */
export function handle(
  route: Route,
  request: FastifyRequest,
  services: Services,
): ReturnType<Route['handle']> {
  const call = new RequestCall(route, request, services)
  const { user, url, query, header } = call
  if (route.repeats === undefined || user === undefined) return route.handle(call)
  const key = services.repeats.keyOf({
    ...{ user, url, query, header },
    method: request.method,
    // A streamed body has not been read yet, so its handler derives a key for each of its parts.
    body: route.streamsBody === true ? undefined : call.body,
  })
  if (key === undefined) return route.handle(call)
  if (key.kind === 'refused') return key
  call.repeatKey = key
  const run = async () => await route.handle(call)
  return route.repeats === 'live' ? run() : services.repeats.runOnce(key, run)
}

/** Getters compute what only some handlers need. */
class RequestCall implements Call<unknown, unknown, unknown, Caller | undefined> {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly user: Caller | undefined
  readonly requestId: string
  repeatKey: RepeatKey | undefined = undefined
  readonly url: string
  // Properties instead of methods, because handlers destructure the call.
  readonly sign: Call<unknown, unknown, unknown, unknown>['sign']
  readonly header: (name: string) => string | undefined
  readonly authenticate: () => Promise<Authentication | undefined>
  readonly #request: FastifyRequest
  readonly #services: Services

  constructor(route: Route, request: FastifyRequest, services: Services) {
    this.#request = request
    this.#services = services
    this.params = request.params
    this.query = request.query
    this.body = request.body
    this.user = request.caller
    this.requestId = request.id
    this.url = request.url
    this.sign = (about) => authorshipOf(route, request, about)
    this.header = (name) => headerOf(request.headers[name])
    this.authenticate = async () => authenticate(request, services)
  }

  get ip(): string {
    return this.#request.ip
  }

  get isLocal(): boolean {
    return isLocal(this.#request)
  }

  get isSecure(): boolean {
    return isSecure(this.#request, this.#services.publicUrl())
  }
}

/** Headers that proxies add, in addition to those that begin with `x-forwarded-`. */
const FORWARDED: ReadonlySet<string> = new Set(['forwarded', 'via', 'x-real-ip'])

function isLocal({ raw: { headers, socket } }: FastifyRequest): boolean {
  if (!isLoopbackAddress(socket.remoteAddress ?? '') || !isLoopbackAddress(hostOf(headers.host ?? '')))
    return false
  return Object.keys(headers).every((name) => !FORWARDED.has(name) && !name.startsWith('x-forwarded-'))
}

const headerOf = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : value)
