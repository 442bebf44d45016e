// Fastify, set up from the route table. What happens to a request is in request-steps.ts.
//
// - Every answer that is not a success is a problem document (RFC 9457), whether a handler or the server refused.
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyRequest, type FastifyServerOptions } from 'fastify'
import { LIMITS } from '../../engine/limits.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { RefusalCode } from '../../schemas/refusals.ts'
import type { Caller } from '../auth/caller.ts'
import type { Ids } from '../ids.ts'
import { API_LIMITS } from '../limits.ts'
import { createRates } from '../rates/rates.ts'
import { refused } from '../refusal.ts'
import type { AppOptions } from './app-options.ts'
import { serveArtifacts } from './artifacts.ts'
import { createAudit } from './audit.ts'
import { boundConnections } from './connection-bounds.ts'
import { createCors } from './cors.ts'
import { FileStreams } from './file-streams.ts'
import { acceptJson, acceptStream } from './json-body.ts'
import { answerUnmatched } from './not-found.ts'
import {
  hasClientDisconnected,
  pathOf,
  refuseBytes,
  refuseSocket,
  sendProblem,
  toRefusal,
} from './problems.ts'
import { addRoute, installArrival, METHODS, PROBES } from './request-steps.ts'
import { plainUrl, type RoutePath, toPattern } from './route-match.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    bodyTypes?: readonly string[] | undefined
    isUpload?: boolean | undefined
  }
  interface FastifyRequest {
    caller: Caller | undefined
    /** Code of the problem that was sent as the answer. */
    refusal: RefusalCode | undefined
    auditDetail: JsonObject | undefined
    /** True if the engine writes the audit entry of this request. */
    isSigned: boolean
  }
}

/** Node would answer a request without a host with an empty body, so request-steps.ts refuses it instead. */
const SERVER = { requireHostHeader: false }
const PARAM_CHARS_MAX = 1_024
const REQUEST_ID = /^[A-Za-z0-9._:/+=@-]{1,128}$/

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
  // Over TLS the same server runs on different sockets, but Fastify's types distinguish the two.
  const app = Fastify(
    options.tls === undefined
      ? ({ ...server, http: SERVER } as FastifyServerOptions)
      : ({ ...server, https: { ...SERVER, ...httpsOptions(options.tls, options) } } as FastifyServerOptions),
  )
  acceptJson(app)
  app.decorateRequest('caller', undefined)
  app.decorateRequest('refusal', undefined)
  app.decorateRequest('auditDetail', undefined)
  app.decorateRequest('isSigned', false)
  boundConnections(app.server, options.trustedProxies)
  refuseProxying(app.server, services.ids)
  const arrival = { ...options, cors: createCors(options.corsOrigins), paths: collectPaths(app) }
  installArrival(app, arrival)
  app.setErrorHandler((error, request, reply) => {
    if (!hasClientDisconnected(error, reply)) sendProblem(request, reply, toRefusal(error, request, logger))
  })
  app.setNotFoundHandler((request, reply) => answerUnmatched(arrival, request, reply))
  observe(app, options)
  const audit = createAudit({ engine: services.engine, users: services.users, logger })
  const rates = createRates(options.requestRates, { clock: services.clock, shares: options.rateShares })
  const files = new FileStreams()
  if (options.onlyProbes !== true) serveArtifacts(app, options.artifacts)
  options.serveMore?.(app, rates)
  for (const route of routes) {
    const tools = { services, rates, files, images: options.artifacts, audit: audit(route) }
    if (route.streamsBody !== true) addRoute(app, route, tools)
    // Registered in a scope of its own, so that other routes still refuse such bodies.
    else
      void app.register((scope, _options, done) => {
        acceptStream(scope, route.bodyTypes ?? [])
        addRoute(scope, route, tools)
        done()
      })
  }
  return app
}

/** The routes of the application. Routes that are added later appear in it too. */
function collectPaths(app: FastifyInstance): readonly RoutePath[] {
  const paths: RoutePath[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) paths.push({ method: each, path: toPattern(url) })
  })
  return paths
}

/** Without a listener, Node closes the connection of a CONNECT without an answer. */
function refuseProxying(server: FastifyInstance['server'], ids: Ids): void {
  server.on('connect', (_request, stream) => {
    // Node hands over the request's net.Socket; the type allows for other streams.
    const socket = stream as Socket
    // 'close' follows every error.
    socket.on('error', () => undefined)
    const refusal = refused('METHOD_NOT_ALLOWED', { message: 'this service is no proxy' })
    refuseSocket(socket, refusal, { requestId: ids.next('req_'), allow: METHODS.join(', ') })
  })
}

/** A client without a valid certificate may connect. The routes that need certificates check them. */
function httpsOptions(
  tls: NonNullable<AppOptions['tls']>,
  { asksForCertificates = false }: Pick<AppOptions, 'asksForCertificates'>,
) {
  const context = tls.context()
  const requestCert = asksForCertificates && context.ca !== undefined
  return { ...context, requestCert, rejectUnauthorized: false }
}

/** The caller's request id, unless it has characters that could break a log line. */
function requestIdOf(header: string | string[] | undefined, ids: Ids): string {
  return typeof header === 'string' && REQUEST_ID.test(header) ? header : ids.next('req_')
}

function observe(app: FastifyInstance, { logger, onRequestDone }: AppOptions): void {
  const patterns = new Map<string, string>()
  const patternOf = ({ routeOptions: { url } }: FastifyRequest): string => {
    if (url === undefined) return 'unmatched'
    const pattern = patterns.get(url) ?? toPattern(url)
    patterns.set(url, pattern)
    return pattern
  }
  app.addHook('onResponse', (request, reply, done) => {
    const route = patternOf(request)
    const seconds = reply.elapsedTime / 1000
    onRequestDone?.({ method: request.method, route, status: reply.statusCode, seconds })
    if (!PROBES.has(route)) {
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
