// What happens to a request, from its first byte to its answer, in the order of this file.
//
// 1. Its connection is counted and bounded: `boundConnections`, in app.ts.
// 2. EVERY_REQUEST, with or without a matching route, once the earlier requests on its connection are answered.
// 3. BEFORE_BODY, the steps of its route before its body is read.
// 4. BEFORE_HANDLER, the steps that need the body.
// 5. The handler, once even if the request is sent again with the same Idempotency-Key: handle.ts.
// 6. The answer is sent. Its audit entry is written first: audit.ts.
// 7. The request is measured and logged: `observe`, in app.ts.
//
// A step that refuses ends the request with a problem document: problems.ts.
//
// H1. No part of a request's body is read before its caller is known and allowed.
// H2. A refused request goes no further, even if its sender leaves before the answer: `refuseOrContinue`.
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { Type } from 'typebox'
import { LIMITS } from '../../engine/limits.ts'
import { API } from '../../schemas/operation.ts'
import { API_LIMITS } from '../limits.ts'
import type { Rates } from '../rates/rates.ts'
import { type Refusal, refused } from '../refusal.ts'
import { answerInOrder } from './answer-order.ts'
import type { AppOptions } from './app-options.ts'
import { boundArrival, delayContinue, endAfterAnswer } from './arrival.ts'
import type { ArtifactsTools } from './artifacts.ts'
import type { Audit } from './audit.ts'
import type { FileStreams } from './file-streams.ts'
import {
  admitToDevice,
  authenticateCaller,
  boundAddressRate,
  boundDeviceRateByBody,
  boundUserRate,
  catchUpWithDevices,
  chargeWork,
  checkRole,
  type Exchange,
  refuseForeignPages,
  refuseUnseenRevocation,
} from './gate.ts'
import { handle } from './handle.ts'
import { answerUnmatched, type NotFoundOptions } from './not-found.ts'
import { pathOf, refuseOrContinue, sendProblem } from './problems.ts'
import type { Route } from './route.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import { sendAnswer, sendFile } from './send-answer.ts'
import { sendImage } from './send-image.ts'
import type { Services } from './services.ts'
import { type Check, checkOf, type Source } from './validation.ts'

/** What the steps for every request use. */
export type ArrivalOptions = AppOptions & NotFoundOptions

/** What the steps of one route use. */
export interface RouteTools {
  readonly services: Services
  readonly rates: Rates
  readonly files: FileStreams
  readonly images: ArtifactsTools
  readonly audit: Audit | undefined
}

/** Returns false if the step has answered the request, which then goes no further. */
type ArrivalStep = (request: FastifyRequest, reply: FastifyReply) => boolean
type Install = (app: FastifyInstance, options: ArrivalOptions) => ArrivalStep
type Step = (exchange: Exchange, route: Route, tools: RouteTools & { readonly checks: Checks }) => Outcome
type Outcome = Refusal | undefined | Promise<Refusal | undefined>

const EVERY_REQUEST: readonly Install[] = [boundArrival, setHeaders, checkHost, checkExpectation, checkMethod]

const BEFORE_BODY: readonly Step[] = [
  boundAddressRate,
  refuseForeignPages,
  authenticateCaller,
  refuseUnseenRevocation,
  boundUserRate,
  checkRole,
  chargeWork,
  catchUpWithDevices,
  admitToDevice,
  checkLength,
]

const BEFORE_HANDLER: readonly Step[] = [checkPath, checkQuery, checkBody, boundDeviceRateByBody]

export function installArrival(app: FastifyInstance, options: ArrivalOptions): void {
  const steps = EVERY_REQUEST.map((install) => install(app, options))
  // One hook for all steps, because each hook costs every request something.
  app.addHook('onRequest', (request, reply, done) =>
    answerInOrder(request.raw, reply.raw, () => {
      for (const step of steps) if (!step(request, reply)) return
      done()
    }),
  )
  delayContinue(app)
}

export function addRoute(app: FastifyInstance, route: Route, routeTools: RouteTools): void {
  const tools = { ...routeTools, checks: checksOf(route) }
  const { services, audit, files, images } = tools
  const refusalOf = (steps: readonly Step[], exchange: Exchange, from = 0): Outcome => {
    for (let i = from; i < steps.length; i++) {
      const outcome = steps[i]?.(exchange, route, tools)
      // Most steps are synchronous, and each await costs a turn of the event loop.
      if (outcome instanceof Promise)
        return outcome.then((refusal) => refusal ?? refusalOf(steps, exchange, i + 1))
      if (outcome !== undefined) return outcome
    }
    return undefined
  }
  app.route({
    // The route table uses Fastify's names of methods.
    method: route.method as HTTPMethods,
    config: { bodyTypes: route.bodyTypes, isUpload: route.isUpload },
    bodyLimit: route.bodyBytesMax ?? API_LIMITS.bodyBytesMax,
    url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    // H1, H2
    onRequest(request, reply, done) {
      const exchange = { request, reply }
      refuseOrContinue(exchange, () => refusalOf(BEFORE_BODY, exchange), done)
    },
    async handler(request, reply) {
      const outcome = refusalOf(BEFORE_HANDLER, { request, reply })
      const refusal = outcome instanceof Promise ? await outcome : outcome
      if (refusal !== undefined) return sendProblem(request, reply, refusal)
      const result = await handle(route, request, services)
      if (result.kind === 'file') {
        const tooMany = files.refuse(request.caller?.id ?? request.ip, result.bytes)
        return tooMany === undefined ? sendFile(request, reply, result) : sendProblem(request, reply, tooMany)
      }
      if (result.kind === 'image') return sendImage({ request, reply }, result.image, images)
      if (result.kind === 'refused') return sendProblem(request, reply, result)
      request.auditDetail = result.auditDetail
      if (result.userId !== undefined) request.caller = services.users.get(result.userId)
      return sendAnswer(reply, result)
    },
    ...(route.isUpload === true || audit !== undefined ? { onSend: beforeAnswer(route, audit) } : {}),
  })
}

/** A promise costs a turn of the event loop and makes Fastify add listeners, so it exists only if an entry is written. */
function beforeAnswer({ isUpload }: Route, audit: Audit | undefined) {
  return (request: FastifyRequest, reply: FastifyReply, _: unknown, done: () => void) => {
    if (isUpload === true && endAfterAnswer(request)) reply.header('connection', 'close')
    const written = audit?.(request, reply)
    if (written === undefined) done()
    return written
  }
}

function setHeaders(_: FastifyInstance, { pages, cors, isDraining }: ArrivalOptions): ArrivalStep {
  return (request, reply) => {
    reply.headers(SECURITY_HEADERS)
    reply.header('x-request-id', request.id)
    if (pages?.build !== undefined) reply.header('x-fleet-build', pages.build)
    cors.setHeaders(request, reply)
    if (isDraining()) reply.header('connection', 'close')
    return true
  }
}

/** Paths of probes. They are limited by address, and requested too often to be logged. */
export const PROBES: ReadonlySet<string> = new Set(['/livez', '/healthz', '/readyz', '/metrics'])

function checkHost(_: FastifyInstance, { hosts }: ArrivalOptions): ArrivalStep {
  return (request, reply) => {
    const { headers, rawHeaders, httpVersion } = request.raw
    const { host } = headers
    // [RFC 9112 3.2] Clients of HTTP/1.0 need not send a host.
    if ((host === undefined && httpVersion !== '1.0') || isHostTwice(rawHeaders)) {
      sendProblem(request, reply, refused('BAD_REQUEST', { message: 'send one Host header' }))
      return false
    }
    if (hosts === undefined || hosts.has(host) || PROBES.has(pathOf(request.url))) return true
    sendProblem(
      request,
      reply,
      refused('MISDIRECTED_REQUEST', { message: `${host} is no name of this service` }),
    )
    return false
  }
}

/** Raw headers alternate names and values. Of two hosts, Node keeps the first. */
function isHostTwice(raw: readonly string[]): boolean {
  let hosts = 0
  for (let i = 0; i < raw.length; i += 2)
    if (raw[i]?.length === 4 && raw[i]?.toLowerCase() === 'host') hosts++
  return hosts > 1
}

/** Node itself would answer these with an empty body. */
function checkExpectation(app: FastifyInstance): ArrivalStep {
  const unmet = new WeakSet<IncomingMessage>()
  app.server.on('checkExpectation', (request, response) => {
    unmet.add(request)
    app.server.emit('request', request, response)
  })
  return (request, reply) => {
    if (!unmet.has(request.raw)) return true
    sendProblem(request, reply, refused('BAD_REQUEST', { message: 'Expect: only 100-continue is known' }))
    return false
  }
}

export const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Refuses unknown methods early, because Fastify would insist on a body for some of them. */
function checkMethod(_: FastifyInstance, options: ArrivalOptions): ArrivalStep {
  return (request, reply) => {
    if (METHODS.includes(request.method)) return true
    answerUnmatched(options, request, reply)
    return false
  }
}

/** Refuses a body that is too long before reading any of it. */
function checkLength({ request }: Exchange, { bodyBytesMax }: Route): Refusal | undefined {
  const actual = Number(request.headers['content-length'] ?? 0)
  if (bodyBytesMax === undefined || actual <= bodyBytesMax + LIMITS.uploadExtraBytesMax) return undefined
  return refused('PAYLOAD_TOO_LARGE', { limit: bodyBytesMax, actual })
}

interface Checks {
  readonly params: Check
  readonly query: Check
  readonly body: Check
}

/** Refuses every query parameter, because a misspelt filter must not look like one that matches everything. */
const NO_QUERY = Type.Object({}, { additionalProperties: false })

function checksOf(route: Route): Checks {
  const check = (source: Source, schema: Route['body']): Check =>
    schema === undefined ? () => undefined : checkOf(schema, source)
  return {
    params: check('path', route.params),
    query: check('query', route.query ?? (route.path.startsWith(API) ? NO_QUERY : undefined)),
    body: route.streamsBody === true ? requireBody : check('body', route.body),
  }
}

const requireBody: Check = (body) =>
  body === undefined ? refused('VALIDATION_FAILED', { message: 'a body is required' }) : undefined

type CheckTools = { readonly checks: Checks }

function checkPath({ request }: Exchange, _: Route, { checks }: CheckTools): Refusal | undefined {
  return checks.params(request.params, 0)
}

function checkQuery({ request }: Exchange, _: Route, { checks }: CheckTools): Refusal | undefined {
  return checks.query(request.query, 0)
}

function checkBody({ request }: Exchange, route: Route, { checks }: CheckTools): Refusal | undefined {
  const mayLackBody = route.bodyOptional === true || route.body === undefined
  if (mayLackBody && request.body === undefined) return undefined
  const bytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  return checks.body(request.body, bytes)
}
