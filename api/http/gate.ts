// Decides whether a request may go on to its handler, by its caller's role and groups and by the rate limits.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DeviceId } from '../../schemas/ids.ts'
import type { Authenticated } from '../auth/authenticate.ts'
import type { Caller } from '../auth/caller.ts'
import { noSuchDevice, visibleId } from '../auth/visible-device.ts'
import type { Rates } from '../rates/rates.ts'
import { type Refusal, refused } from '../refusal.ts'
import { splitTicket } from './download-address.ts'
import { refuseOtherPages } from './own-pages.ts'
import type { Route } from './route.ts'
import type { Services } from './services.ts'

export interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** Returns undefined if the caller may go on. */
export async function admit(
  { access, scope, isUnlimited, deviceRateExempts, work, ownPagesOnly, files }: Route,
  { request, reply }: Exchange,
  { services, rates }: { readonly services: Services; readonly rates: Rates },
): Promise<Refusal | undefined> {
  if (access === 'public') {
    const tooMany = isUnlimited === true ? rates.probe(request.ip, reply) : rates.address(request.ip, reply)
    if (tooMany !== undefined || ownPagesOnly !== true) return tooMany
    return refuseOtherPages(request, services.publicUrl())
  }
  const authenticated =
    (await authenticate(request, services)) ??
    (files === undefined ? undefined : await authenticateByTicket(request, services))
  if (authenticated === undefined || authenticated.kind === 'refused')
    return rates.address(request.ip, reply) ?? authenticated ?? noToken()
  const { user } = authenticated
  const tooMany = rates.user(user.id, reply)
  if (tooMany !== undefined) return tooMany
  if (!access.includes(user.role))
    return refused('FORBIDDEN', { message: `needs the role ${access.join(' or ')}; yours is ${user.role}` })
  const tooMuch = work === undefined ? undefined : services.work.charge(user.id, work)
  if (tooMuch !== undefined) return tooMuch
  if (scope !== 'device') return undefined
  const deviceId = deviceInSight(request, user, services)
  if (deviceId === undefined) return noSuchDevice()
  return deviceRateExempts === undefined ? rates.device({ userId: user.id, deviceId }, reply) : undefined
}

/** Decides the rest for calls whose body says whether the rate of the device counts them. */
export function admitBody(
  { deviceRateExempts }: Route,
  { request, reply }: Exchange,
  { services, rates }: { readonly services: Services; readonly rates: Rates },
): Refusal | undefined {
  const { caller, body } = request
  if (deviceRateExempts !== 'critical' || caller === undefined) return undefined
  // The body has been validated as a command.
  const { priority } = body as { readonly priority?: unknown }
  if (priority === 'critical') return undefined
  const deviceId = deviceInSight(request, caller, services)
  return deviceId === undefined ? noSuchDevice() : rates.device({ userId: caller.id, deviceId }, reply)
}

const noToken = () => refused('UNAUTHENTICATED', { message: 'send Authorization: Bearer <access_token>' })

/** Sets `request.caller` if the token is good, even if that caller may not use the operation. */
export async function authenticate(
  request: FastifyRequest,
  services: Services,
): Promise<Authenticated | undefined> {
  const { authorization } = request.headers
  if (authorization === undefined) return undefined
  const token = bearerOf(authorization)
  if (token === undefined) return noToken()
  const authenticated = await services.authenticate(token)
  if (authenticated.kind === 'user') request.caller = authenticated.user
  return authenticated
}

/** A browser that downloads a file can send no header, so it shows a ticket that is good for this very address. */
async function authenticateByTicket(
  request: FastifyRequest,
  { downloadTickets }: Services,
): Promise<Authenticated | undefined> {
  const { path, ticket } = splitTicket(request.url)
  if (ticket === undefined || request.method !== 'GET') return undefined
  const authenticated = await downloadTickets.redeem(ticket, path)
  if (authenticated.kind === 'refused') return authenticated
  request.caller = authenticated.user
  // The operation itself knows no such parameter.
  const { ticket: _, ...query } = Object(request.query) as Readonly<Record<string, unknown>>
  request.query = query
  return authenticated
}

/** The token in an `Authorization` header; undefined if there is none. */
export function bearerOf(authorization: string | undefined): string | undefined {
  const [scheme = '', token = '', more] = (authorization ?? '').trim().split(/ +/, 3)
  return scheme.toLowerCase() === 'bearer' && token !== '' && more === undefined ? token : undefined
}

function deviceInSight({ params }: FastifyRequest, user: Caller, { engine }: Services): DeviceId | undefined {
  // Operations of this scope have the parameter in their path; a test holds them to it.
  const { device_id: text } = params as { readonly device_id: string }
  return visibleId(engine, text, user)
}
