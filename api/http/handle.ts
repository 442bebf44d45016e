// Calls the handler of a request, once even if the request is sent again with the same Idempotency-Key.
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../auth/caller.ts'
import { isLoopbackAddress } from '../loopback.ts'
import type { Refusal } from '../refusal.ts'
import type { Answer, FileAnswer, FirmwareFile } from './answer.ts'
import { signed } from './audit.ts'
import { authenticate } from './gate.ts'
import { hostOf } from './known-hosts.ts'
import { isSecure } from './own-pages.ts'
import type { Call, Route } from './route.ts'
import type { Services } from './services.ts'

/** Runs the handler of a request that has been admitted and validated. */
export async function handle(
  route: Route,
  request: FastifyRequest,
  services: Services,
): Promise<Answer | FileAnswer | FirmwareFile | Refusal> {
  const call = toCall(route, request, services)
  const { user } = call
  if (route.repeats === undefined || user === undefined) return await route.handle(call)
  const key = services.repeats.keyOf({
    ...call,
    user,
    method: request.method,
    // A streamed body has not been read yet: its handler derives a key for each of its parts.
    body: route.streamsBody === true ? undefined : call.body,
  })
  if (key === undefined) return await route.handle(call)
  if (key.kind === 'refused') return key
  const run = async () => await route.handle({ ...call, repeatKey: key })
  return route.repeats === 'live' ? await run() : await services.repeats.once(key, run)
}

function toCall(
  route: Route,
  request: FastifyRequest,
  services: Services,
): Call<unknown, unknown, unknown, Caller | undefined> {
  return {
    params: request.params,
    query: request.query,
    body: request.body,
    user: request.caller,
    requestId: request.id,
    repeatKey: undefined,
    ip: request.ip,
    get isLocal() {
      return isLocal(request)
    },
    get isSecure() {
      return isSecure(request, services.publicUrl())
    },
    sign: (about) => signed(route, request, about),
    url: request.url,
    header: (name) => headerOf(request.headers[name]),
    authenticate: () => authenticate(request, services),
  }
}

/** Headers that proxies add, beside `x-forwarded-for` and its kin. */
const FORWARDED: ReadonlySet<string> = new Set(['forwarded', 'via', 'x-real-ip'])

function isLocal({ raw: { headers, socket } }: FastifyRequest): boolean {
  if (!isLoopbackAddress(socket.remoteAddress ?? '') || !isLoopbackAddress(hostOf(headers.host ?? '')))
    return false
  return Object.keys(headers).every((name) => !FORWARDED.has(name) && !name.startsWith('x-forwarded-'))
}

const headerOf = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : value)
