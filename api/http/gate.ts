// The steps that decide by role, groups and rate limits whether a request may proceed to its handler.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../../engine/ports/fault.ts'
import type { DeviceId } from '../../schemas/ids.ts'
import type { Authentication } from '../auth/authenticate.ts'
import type { Caller } from '../auth/caller.ts'
import { deviceNotFound, visibleDeviceId } from '../auth/visible-device.ts'
import { mapMaybeAsync } from '../map-maybe-async.ts'
import type { Rates } from '../rates/rates.ts'
import { type Refusal, refused, roleNeeded } from '../refusal.ts'
import { splitTicket } from './download-address.ts'
import { refuseForeignRequest } from './own-pages.ts'
import type { Route } from './route.ts'
import type { Services } from './services.ts'

export interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

interface Tools {
  readonly services: Services
  readonly rates: Rates
}

/** Limits public operations by address, because they have no caller. */
export function boundAddressRate(
  { request, reply }: Exchange,
  { access, isUnlimited }: Route,
  { rates }: Tools,
): Refusal | undefined {
  if (access !== 'public') return undefined
  return isUnlimited === true ? rates.probe(request.ip, reply) : rates.address(request.ip, reply)
}

export function refuseForeignPages(
  { request }: Exchange,
  { access, ownPagesOnly }: Route,
  { services }: Tools,
): Refusal | undefined {
  if (access !== 'public' || ownPagesOnly !== true) return undefined
  return refuseForeignRequest(request, services.publicUrl())
}

/** Sets `request.caller`, which later steps use. Failed attempts are counted by address. */
export function authenticateCaller(
  { request, reply }: Exchange,
  { access, files }: Route,
  { services, rates }: Tools,
): Refusal | undefined | Promise<Refusal | undefined> {
  if (access === 'public') return undefined
  const toRefusal = (authenticated: Authentication | undefined) =>
    authenticated?.kind === 'user'
      ? undefined
      : (rates.address(request.ip, reply) ?? authenticated ?? tokenMissing())
  const byToken = authenticate(request, services)
  if (byToken !== undefined) return mapMaybeAsync(byToken, toRefusal)
  return files === undefined ? toRefusal(undefined) : authenticateByTicket(request, services).then(toRefusal)
}

/** While this node does not hear of revocations by other nodes, it only serves reads. What a revoked caller reads
 *  meanwhile is bounded by how long this lasts, but a change could not be undone. */
export function refuseUnseenRevocation(
  { request: { caller, method } }: Exchange,
  _: Route,
  { services: { users } }: Tools,
): undefined {
  if (caller === undefined || method === 'GET' || method === 'HEAD' || users.isUp()) return undefined
  throw new Fault('STORE_UNAVAILABLE', {
    retryable: true,
    message: 'this node does not hear of revoked tokens just now, so it changes nothing',
  })
}

export function boundUserRate(
  { request: { caller }, reply }: Exchange,
  _: Route,
  { rates }: Tools,
): Refusal | undefined {
  return caller === undefined ? undefined : rates.user(caller.id, reply)
}

export function checkRole({ request: { caller } }: Exchange, { access }: Route): Refusal | undefined {
  if (access === 'public' || caller === undefined || access.includes(caller.role)) return undefined
  return refused('FORBIDDEN', { message: roleNeeded(access, caller.role) })
}

export function chargeWork(
  { request: { caller } }: Exchange,
  { work }: Route,
  { services }: Tools,
): Refusal | undefined {
  return work === undefined || caller === undefined ? undefined : services.work.charge(caller.id, work)
}

/** Lists are answered from memory. A node that was paused has to bring that memory up to date first. */
export function catchUpWithDevices(
  { request: { caller } }: Exchange,
  _: Route,
  { services: { engine } }: Tools,
): undefined | Promise<undefined> {
  if (caller === undefined) return undefined
  return engine.devices.freshen()?.then(() => undefined)
}

/** A device outside the caller's groups looks like one that does not exist. Another node may just have registered it. */
export function admitToDevice(
  { request, reply }: Exchange,
  { scope, deviceRateExempts }: Route,
  { services, rates }: Tools,
): Refusal | undefined | Promise<Refusal | undefined> {
  const { caller } = request
  if (scope !== 'device' || caller === undefined) return undefined
  const admit = (deviceId: DeviceId | undefined) => {
    if (deviceId === undefined) return deviceNotFound()
    return deviceRateExempts === undefined ? rates.device({ userId: caller.id, deviceId }, reply) : undefined
  }
  const known = visibleDeviceIdOf(request, caller, services)
  if (known !== undefined) return admit(known)
  return services.engine.devices.catchUp().then(() => admit(visibleDeviceIdOf(request, caller, services)))
}

/** Limits calls whose body decides whether they count towards the rate of the device. */
export function boundDeviceRateByBody(
  { request, reply }: Exchange,
  { deviceRateExempts }: Route,
  { services, rates }: Tools,
): Refusal | undefined {
  const { caller, body } = request
  if (deviceRateExempts !== 'critical' || caller === undefined) return undefined
  // The body has been validated as a command.
  const { priority } = body as { readonly priority?: unknown }
  if (priority === 'critical') return undefined
  const deviceId = visibleDeviceIdOf(request, caller, services)
  return deviceId === undefined ? deviceNotFound() : rates.device({ userId: caller.id, deviceId }, reply)
}

const tokenMissing = () =>
  refused('UNAUTHENTICATED', { message: 'send Authorization: Bearer <access_token>' })

/** Sets `request.caller` if the token is valid, even if that caller may not use the operation. */
export function authenticate(
  request: FastifyRequest,
  services: Services,
): Authentication | undefined | Promise<Authentication> {
  const { authorization } = request.headers
  if (authorization === undefined) return undefined
  const token = bearerOf(authorization)
  if (token === undefined) return tokenMissing()
  const rememberCaller = (authenticated: Authentication) => {
    if (authenticated.kind === 'user') request.caller = authenticated.user
    return authenticated
  }
  return mapMaybeAsync(services.authenticate(token), rememberCaller)
}

/** A browser that downloads a file cannot send headers, so it presents a ticket that is valid for this exact address. */
async function authenticateByTicket(
  request: FastifyRequest,
  { downloadTickets }: Services,
): Promise<Authentication | undefined> {
  const { path, ticket } = splitTicket(request.url)
  if (ticket === undefined || request.method !== 'GET') return undefined
  const authenticated = await downloadTickets.redeem(ticket, path)
  if (authenticated.kind === 'refused') return authenticated
  request.caller = authenticated.user
  // The operation's schema does not include this parameter.
  const { ticket: _, ...query } = Object(request.query) as Readonly<Record<string, unknown>>
  request.query = query
  return authenticated
}

const BEARER = 'Bearer '

/** The token in an `Authorization` header; undefined if there is none. */
export function bearerOf(authorization: string | undefined): string | undefined {
  // Fast path for the header as nearly every client sends it.
  if (authorization?.startsWith(BEARER) === true && authorization.lastIndexOf(' ') === BEARER.length - 1)
    return authorization.slice(BEARER.length) || undefined
  const [scheme = '', token = '', more] = (authorization ?? '').trim().split(/ +/, 3)
  return scheme.toLowerCase() === 'bearer' && token !== '' && more === undefined ? token : undefined
}

function visibleDeviceIdOf(
  { params }: FastifyRequest,
  user: Caller,
  { engine }: Services,
): DeviceId | undefined {
  // Operations of this scope have the parameter in their path. A test ensures this.
  const { device_id: text } = params as { readonly device_id: string }
  return visibleDeviceId(engine, text, user)
}
