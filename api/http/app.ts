// Fastify, set up from the route table: authenticate, validate, call the handler, answer.
//
// H1. No part of a request's body is read before its caller is known and allowed.
// H2. Every answer that is not a success is a problem document (RFC 9457), whether a handler or the server refused.
import type { SecureContextOptions } from 'node:tls'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  type HTTPMethods,
} from 'fastify'
import { Type } from 'typebox'
import { LIMITS } from '../../engine/limits.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { API } from '../../schemas/operation.ts'
import type { RefusalCode } from '../../schemas/refusals.ts'
import type { Caller } from '../auth/caller.ts'
import type { Ids } from '../ids.ts'
import { API_LIMITS } from '../limits.ts'
import type { Logger } from '../logger.ts'
import type { RateShares } from '../rates/rate-shares.ts'
import { createRates, type Rates, type RequestRates } from '../rates/rates.ts'
import { type Refusal, refused } from '../refusal.ts'
import type { Answer, FileAnswer } from './answer.ts'
import { boundArrival, continueLate, endAfterAnswer } from './arrival.ts'
import { type ArtifactsTools, serveArtifacts } from './artifacts.ts'
import { type Audit, createAudit } from './audit.ts'
import { boundConnections } from './connection-bounds.ts'
import { type Cors, createCors } from './cors.ts'
import { FileStreams } from './file-streams.ts'
import { admit, admitBody } from './gate.ts'
import { handle } from './handle.ts'
import { acceptJson, acceptStream } from './json-body.ts'
import type { KnownHosts } from './known-hosts.ts'
import { createQueues } from './one-at-a-time.ts'
import { type Pages, sendPage } from './pages.ts'
import { pathOf, refuseBytes, sendProblem, toRefusal } from './problems.ts'
import type { Route } from './route.ts'
import { allowedMethods, plainUrl } from './route-match.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import { sendImage } from './send-image.ts'
import type { Services } from './services.ts'
import { type Check, createValidation, type Source } from './validation.ts'

export interface RequestDone {
  readonly method: string
  /** The route's pattern, never the path: a metric's label must not grow with the fleet. */
  readonly route: string
  readonly status: number
  readonly seconds: number
}

export interface AppOptions {
  readonly services: Services
  readonly routes: readonly Route[]
  readonly logger: Logger
  readonly onRequestDone?: ((done: RequestDone) => void) | undefined
  /** While it returns true, answers carry `connection: close`, so that clients connect to another node. */
  readonly isDraining: () => boolean
  /** Names under which the service may be asked. Without them any name is taken. */
  readonly hosts: KnownHosts | undefined
  readonly pages?: Pages | undefined
  /** Adds what is no part of the REST API. */
  readonly serveMore?: ((app: FastifyInstance, rates: Rates) => void) | undefined
  /** No links of devices are served. */
  readonly onlyProbes?: boolean | undefined
  /** Without it, a browser that opens the service is shown the documentation. */
  readonly hasDashboard: boolean
  /** Images of firmware, on their way to devices and users. */
  readonly artifacts: ArtifactsTools
  readonly requestRates: RequestRates
  readonly rateShares: RateShares | undefined
  readonly corsOrigins: readonly string[]
  /** Addresses and networks whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
  /** The server speaks plain HTTP if this is undefined. */
  readonly tls?: { context(): SecureContextOptions } | undefined
}

declare module 'fastify' {
  interface FastifyContextConfig {
    bodyTypes?: readonly string[] | undefined
    isUpload?: boolean | undefined
  }
  interface FastifyRequest {
    caller: Caller | undefined
    /** Code of the problem that was sent as the answer. */
    refusal: RefusalCode | undefined
    noted: JsonObject | undefined
    /** The engine writes the audit entry of this request. */
    isSigned: boolean
  }
}

const PARAM_CHARS_MAX = 1_024
const REQUEST_ID = /^[A-Za-z0-9._:/+=@-]{1,128}$/
/** Refuses every query parameter: a misspelt filter must not look like one that matches everything. */
const NO_QUERY = Type.Object({}, { additionalProperties: false })
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const QUIET = new Set(['/livez', '/healthz', '/readyz', '/metrics'])

export function buildApp(options: AppOptions): FastifyInstance {
  const { services, routes, logger } = options
  const server: FastifyServerOptions = {
    logger: false,
    bodyLimit: API_LIMITS.bodyBytesMax,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    trustProxy: options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    rewriteUrl: ({ url = '/' }) => plainUrl(url),
    genReqId: ({ headers }) => requestIdOf(headers['x-request-id'], services.ids),
    clientErrorHandler: (error, socket) => refuseBytes(error, socket, services.ids.next('req_')),
    frameworkErrors(error, request, reply) {
      // No hook has run yet, for example when the path cannot be decoded.
      reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id })
      sendProblem(request, reply, toRefusal(error, request, logger))
    },
  }
  // Over TLS it is the same server on other sockets; Fastify's types tell the two apart.
  const app = Fastify(
    options.tls === undefined
      ? server
      : ({ ...server, https: options.tls.context() } as FastifyServerOptions),
  )
  const cors = createCors(options.corsOrigins)
  acceptJson(app)
  app.decorateRequest('caller', undefined)
  app.decorateRequest('refusal', undefined)
  app.decorateRequest('noted', undefined)
  app.decorateRequest('isSigned', false)
  const queue = createQueues()
  app.addHook('onRequest', (request, reply, done) => queue(request.raw, reply.raw, done))
  continueLate(app)
  boundArrival(app)
  boundConnections(app.server, options.trustedProxies)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS)
    reply.header('x-request-id', request.id)
    if (options.pages?.build !== undefined) reply.header('x-fleet-build', options.pages.build)
    cors.mark(request, reply)
    if (options.isDraining()) reply.header('connection', 'close')
    done()
  })
  app.addHook('onRequest', (request, reply, done) => {
    const { host } = request.raw.headers
    if (isHostTwice(request.raw.rawHeaders)) {
      sendProblem(request, reply, refused('BAD_REQUEST', { message: 'send one Host header' }))
      return
    }
    if (QUIET.has(pathOf(request.url)) || (options.hosts?.has(host) ?? true)) return done()
    sendProblem(
      request,
      reply,
      refused('MISDIRECTED_REQUEST', { message: `${host} is no name of this service` }),
    )
  })
  // Fastify would ask some of these for a body first.
  app.addHook('onRequest', (request, reply, done) => {
    if (METHODS.has(request.method)) return done()
    notFound({ ...options, cors }, request, reply)
  })
  app.setErrorHandler((error, request, reply) =>
    sendProblem(request, reply, toRefusal(error, request, logger)),
  )
  app.setNotFoundHandler((request, reply) => notFound({ ...options, cors }, request, reply))
  observe(app, options)
  const validation = createValidation()
  const audit = createAudit({ engine: services.engine, logger })
  const rates = createRates(options.requestRates, { clock: services.clock, shares: options.rateShares })
  const files = new FileStreams()
  if (options.onlyProbes !== true) serveArtifacts(app, options.artifacts)
  options.serveMore?.(app, rates)
  for (const route of routes) {
    const tools = { services, validation, rates, files, images: options.artifacts, audit: audit(route) }
    if (route.streamsBody !== true) addRoute(app, route, tools)
    // It has a scope of its own, so that other routes go on refusing such bodies.
    else
      void app.register((scope, _options, done) => {
        acceptStream(scope, route.bodyTypes ?? [])
        addRoute(scope, route, tools)
        done()
      })
  }
  return app
}

/** Names and values take turns. Node keeps the first of two. */
function isHostTwice(raw: readonly string[]): boolean {
  let hosts = 0
  for (let i = 0; i < raw.length; i += 2) if (raw[i]?.toLowerCase() === 'host') hosts++
  return hosts > 1
}

/** The caller's request id, unless it has characters that could break a log line. */
function requestIdOf(header: string | string[] | undefined, ids: Ids): string {
  return typeof header === 'string' && REQUEST_ID.test(header) ? header : ids.next('req_')
}

function notFound(
  { routes, cors, pages, hasDashboard }: AppOptions & { readonly cors: Cors },
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const sent = pages === undefined ? undefined : sendPage(pages, request, reply)
  if (sent !== undefined) return sent
  // Without a dashboard, somebody who opens the service in a browser is shown the API.
  if (
    !hasDashboard &&
    request.method === 'GET' &&
    pathOf(request.url) === '/' &&
    /\btext\/html\b/i.test(request.headers.accept ?? '')
  )
    return reply.redirect('/docs', 302)
  const methods = allowedMethods(routes, pathOf(request.url))
  if (methods.length === 0)
    return sendProblem(request, reply, refused('NOT_FOUND', { message: 'no such path' }))
  reply.header('allow', methods.join(', '))
  if (request.method === 'OPTIONS') {
    cors.preflight(request, reply, methods)
    return reply.code(204).send()
  }
  return sendProblem(
    request,
    reply,
    refused('METHOD_NOT_ALLOWED', { message: `allowed: ${methods.join(', ')}` }),
  )
}

function observe(app: FastifyInstance, { logger, onRequestDone }: AppOptions): void {
  app.addHook('onResponse', (request, reply, done) => {
    const route = patternOf(request)
    const seconds = reply.elapsedTime / 1000
    onRequestDone?.({ method: request.method, route, status: reply.statusCode, seconds })
    if (!QUIET.has(route)) {
      const { id, method, ip, caller } = request
      const user = caller === undefined ? {} : { user_id: caller.id }
      const line = {
        request_id: id,
        method,
        path: pathOf(request.url),
        status: reply.statusCode,
        seconds,
        ip,
        ...user,
      }
      logger.debug(line, 'request')
    }
    done()
  })
}

function patternOf({ routeOptions }: FastifyRequest): string {
  return routeOptions.url?.replace(/:(\w+)/g, '{$1}') ?? 'unmatched'
}

interface RouteTools {
  readonly services: Services
  readonly rates: Rates
  readonly files: FileStreams
  readonly images: ArtifactsTools
  readonly validation: ReturnType<typeof createValidation>
  readonly audit: Audit | undefined
}

function addRoute(app: FastifyInstance, route: Route, tools: RouteTools): void {
  const { services, validation, audit } = tools
  const check = (source: Source, schema: Route['body']): Check =>
    schema === undefined ? () => undefined : validation.check(schema, source)
  const [params, query, body] = [
    check('path', route.params),
    check('query', route.query ?? (route.path.startsWith(API) ? NO_QUERY : undefined)),
    route.streamsBody === true ? isThere : check('body', route.body),
  ]
  const mayLackBody = route.bodyOptional === true || route.body === undefined
  app.route({
    // The route table uses Fastify's names of methods.
    method: route.method as HTTPMethods,
    config: { bodyTypes: route.bodyTypes, isUpload: route.isUpload },
    url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    async onRequest(request, reply) {
      // H1
      const refusal = (await admit(route, { request, reply }, tools)) ?? tooLong(route, request)
      if (refusal !== undefined) return sendProblem(request, reply, refusal)
      return undefined
    },
    async onSend(request, reply) {
      if (route.isUpload === true && endAfterAnswer(request)) reply.header('connection', 'close')
      await audit?.(request, reply)
    },
    async handler(request, reply) {
      const bytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
      const refusal =
        params(request.params, 0) ??
        query(request.query, 0) ??
        (mayLackBody && request.body === undefined ? undefined : body(request.body, bytes)) ??
        admitBody(route, { request, reply }, tools)
      if (refusal !== undefined) return sendProblem(request, reply, refusal)
      const result = await handle(route, request, services)
      if (result.kind === 'file') {
        const tooMany = tools.files.refuse(request.caller?.id ?? request.ip, result.bytes)
        return tooMany === undefined ? sendFile(request, reply, result) : sendProblem(request, reply, tooMany)
      }
      if (result.kind === 'image') return sendImage({ request, reply }, result.image, tools.images)
      if (result.kind === 'refused') return sendProblem(request, reply, result)
      request.noted = result.noted
      if (result.by !== undefined) request.caller = services.users.get(result.by)
      return sendAnswer(reply, result)
    },
  })
}

/** Refused before a byte of it is read. */
function tooLong({ bodyBytesMax }: Route, { headers }: FastifyRequest): Refusal | undefined {
  const actual = Number(headers['content-length'] ?? 0)
  if (bodyBytesMax === undefined || actual <= bodyBytesMax + LIMITS.uploadExtraBytesMax) return undefined
  return refused('PAYLOAD_TOO_LARGE', { limit: bodyBytesMax, actual })
}

const isThere: Check = (body) =>
  body === undefined ? refused('VALIDATION_FAILED', { message: 'a body is required' }) : undefined

function sendAnswer(reply: FastifyReply, { status, body, headers }: Answer): FastifyReply {
  reply.code(status)
  const isReady = typeof body === 'string' || body === undefined || body instanceof Uint8Array
  if (!isReady) reply.type('application/json; charset=utf-8')
  if (headers !== undefined) addHeaders(reply, headers)
  return reply.send(isReady ? body : JSON.stringify(body))
}

function sendFile(
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

/** Adds to `vary` instead of replacing it: CORS has set it already. */
function addHeaders(reply: FastifyReply, headers: Readonly<Record<string, string>>): void {
  const before = reply.getHeader('vary')
  reply.headers(headers)
  const { vary } = headers
  if (before !== undefined && vary !== undefined) reply.header('vary', `${String(before)}, ${vary}`)
}
