// Who gets through to a handler: the caller, their role and their groups, by what the operation says of itself.
import type { FastifyRequest } from 'fastify'
import type { Authenticated } from '../auth/authenticate.ts'
import type { Caller } from '../auth/caller.ts'
import { noSuchDevice, visibleId } from '../routes/device-answers.ts'
import { type Refusal, refused } from './answer.ts'
import type { Route } from './route.ts'
import type { Services } from './services.ts'

/** Undefined if the caller may go on. */
export async function admit(
  { access, scope }: Route,
  request: FastifyRequest,
  services: Services,
): Promise<Refusal | undefined> {
  if (access === 'public') return undefined
  const authenticated = await authenticate(request, services)
  if (authenticated === undefined)
    return refused('UNAUTHENTICATED', { message: 'send Authorization: Bearer <access_token>' })
  if (authenticated.kind === 'refused') return authenticated
  const { user } = authenticated
  if (!access.includes(user.role))
    return refused('FORBIDDEN', { message: `needs the role ${access.join(' or ')}; yours is ${user.role}` })
  return scope === 'device' && !isInSight(request, user, services) ? noSuchDevice() : undefined
}

/** From then on the request has its caller, if the token is good: also one that may not call. */
export async function authenticate(
  request: FastifyRequest,
  services: Services,
): Promise<Authenticated | undefined> {
  const { authorization } = request.headers
  if (authorization === undefined) return undefined
  const token = bearerOf(authorization)
  if (token === undefined)
    return refused('UNAUTHENTICATED', { message: 'send Authorization: Bearer <access_token>' })
  const authenticated = await services.authenticate(token)
  if (authenticated.kind === 'user') request.caller = authenticated.user
  return authenticated
}

/** The token in an `Authorization` header; undefined if there is none. */
export function bearerOf(authorization: string | undefined): string | undefined {
  const [scheme = '', token = '', more] = (authorization ?? '').trim().split(/ +/, 3)
  return scheme.toLowerCase() === 'bearer' && token !== '' && more === undefined ? token : undefined
}

function isInSight({ params }: FastifyRequest, user: Caller, { engine }: Services): boolean {
  // Operations of this scope have the parameter in their path; a test holds them to it.
  const { device_id: text } = params as { readonly device_id: string }
  return visibleId(engine, text, user) !== undefined
}
