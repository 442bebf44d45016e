// The REST server: built from its services, listening, with a life cycle.
import type { Server } from 'node:http'
import { Server as TlsServer } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { heartbeatTimeouts } from '../../engine/domain/device/heartbeat.ts'
import type { DeviceTypes } from '../../engine/domain/device-type/definition.ts'
import { LIMITS } from '../../engine/limits.ts'
import { Fault } from '../../engine/ports/fault.ts'
import type { Schedule } from '../../engine/ports/schedule.ts'
import type { UserId } from '../../schemas/ids.ts'
import { listenProblem } from '../../schemas/listen-problem.ts'
import { healthz, livez, metrics, readyz } from '../../schemas/operations/service.ts'
import { serviceUrl } from '../../schemas/service-url.ts'
import { DEVICE_TYPES } from '../../schemas/vocabulary.ts'
import { createAccounts } from '../auth/accounts.ts'
import { createApiKeys } from '../auth/api-keys.ts'
import { type Authenticate, createAuthenticate } from '../auth/authenticate.ts'
import type { Passwords } from '../auth/passwords.ts'
import { createProvisioning, type Provisioning } from '../auth/provisioning.ts'
import { createProvisioningKeys } from '../auth/provisioning-keys.ts'
import { Tickets } from '../auth/tickets.ts'
import { serveDdi } from '../ddi/serve-ddi.ts'
import { buildApp } from '../http/app.ts'
import type { FinishedRequest } from '../http/app-options.ts'
import { type DownloadCounts, Downloads } from '../http/downloads.ts'
import type { KnownHosts } from '../http/known-hosts.ts'
import type { Pages } from '../http/pages.ts'
import { createRepeats } from '../http/repeats.ts'
import type { Services } from '../http/services.ts'
import { createIds } from '../ids.ts'
import { API_LIMITS } from '../limits.ts'
import type { Logger } from '../logger.ts'
import { RateShares } from '../rates/rate-shares.ts'
import { createWorkBudget, type WorkBudget } from '../rates/work-budget.ts'
import type { Phase } from '../routes/operations.ts'
import { toRoutes } from '../routes/routes.ts'
import type { ApiStores } from './api-stores.ts'
import type { Settings } from './settings/settings.ts'
import type { TlsFiles } from './tls/tls-files.ts'

export interface HttpOptions
  extends Pick<Services, 'engine' | 'users' | 'blobs' | 'repairs' | 'tokens' | 'clock'> {
  readonly settings: Pick<
    Settings,
    | 'refreshRotation'
    | 'host'
    | 'httpPort'
    | 'registration'
    | 'heartbeatTimeoutMs'
    | 'publicUrl'
    | 'requestRates'
    | 'corsOrigins'
    | 'trustedProxies'
    | 'ota'
  >
  /** Public keys that verify firmware manifests, as JWKs. */
  readonly otaJwks: readonly object[]
  /** Plain HTTP if undefined. */
  readonly tls?: TlsFiles | undefined
  /** Serves only probes and metrics if true. */
  readonly onlyProbes?: boolean
  /** If undefined, anyone may read the metrics. */
  readonly metricsToken?: string | undefined
  /** The setting to name when listening fails. */
  readonly portSetting?: 'FLEET_METRICS_PORT'
  /** True if metrics are served on a port of their own. */
  readonly metricsElsewhere?: boolean
  readonly hosts?: KnownHosts | undefined
  readonly apiStores: ApiStores
  readonly passwords: Passwords
  readonly logger: Logger
  readonly schedule: Schedule
  readonly version: string
  /** The files of the dashboard and of the documentation. */
  readonly pages?: Pages | undefined
  /** If false, `/` redirects to the documentation. */
  readonly hasDashboard?: boolean | undefined
  /** Types of the device-type file, in addition to the built-in ones. */
  readonly customTypes?: DeviceTypes | undefined
  readonly onRequestDone?: ((done: FinishedRequest) => void) | undefined
  /** How long an upload may send nothing, and a reader may accept nothing. */
  readonly silenceLimits?: typeof SILENCE_LIMITS
}

export interface HttpServer {
  readonly fastify: FastifyInstance
  /** Emits `upgrade` for `/ws`. */
  readonly server: Server
  /** The address with the actual port. */
  readonly url: string
  /** Also authenticates `/ws`. */
  readonly authenticate: Authenticate
  /** Shared with provisioning over MQTT. */
  readonly provisioning: Provisioning
  /** A ticket that logs the user in once. Undefined if too many are outstanding. */
  issueLoginTicket(userId: UserId): Promise<string | undefined>
  /** Tickets for `/ws?ticket=`. */
  readonly redeemTicket: Tickets['redeem']
  readonly downloads: () => DownloadCounts
  /** Shared with `/ws`. */
  readonly work: WorkBudget
  /** Ends the startup phase, during which `/readyz` answers 503. */
  setReady(): void
  /** Makes `/readyz` answer 503, and closes each connection after its next answer. */
  drain(): void
  /** Waits for requests under way, up to a limit. */
  close(): Promise<void>
}

const SILENCE_LIMITS: { readonly uploadMs: number; readonly downloadMs: number } = {
  uploadMs: LIMITS.uploadSilenceMs,
  downloadMs: API_LIMITS.downloadSilenceMs,
}

const PROBES: ReadonlySet<string> = new Set([livez, healthz, readyz, metrics].map(({ path }) => path))

/** Everything except listening, so that tests can inject requests. */
export function createHttp(options: HttpOptions) {
  const { engine, users, settings, tokens, clock, version, silenceLimits = SILENCE_LIMITS } = options
  const ids = createIds(clock)
  const apiKeys = createApiKeys({ users, ids, clock })
  const provisioningKeys = createProvisioningKeys({ users, ids, clock })
  const provisioning = createProvisioning({ keys: provisioningKeys, users, engine, tokens, clock })
  const authenticate = createAuthenticate({ tokens, apiKeys, users, clock })
  const defined: DeviceTypes = options.customTypes ?? new Map()
  const { rates } = options.apiStores
  const rateShares = rates && new RateShares({ ...options, rates })
  const work = createWorkBudget({ perSec: settings.requestRates.work, clock, shares: rateShares })
  const tickets = new Tickets(authenticate, options.apiStores.tickets)
  const loginTickets = new Tickets(authenticate, options.apiStores.loginTickets, 'login')
  const services: Services = {
    engine,
    users,
    blobs: options.blobs,
    repairs: options.repairs,
    accounts: createAccounts({ ...options, ...settings, users, ids, rateShares }),
    apiKeys,
    provisioningKeys,
    provisioning,
    authenticate,
    tokens,
    repeats: createRepeats({ answers: options.apiStores.answers, clock }),
    tickets,
    loginTickets,
    downloadTickets: new Tickets(authenticate, options.apiStores.tickets, 'download'),
    ids,
    clock,
    schedule: options.schedule,
    work,
    ...heartbeatTimeouts(settings.heartbeatTimeoutMs, defined),
    publicUrl: () => (settings.publicUrl ?? phase.httpUrl ?? '').replace(/\/$/, ''),
    ota: { ...settings.ota, jwks: options.otaJwks, uploadSilenceMs: silenceLimits.uploadMs },
    deviceTypes: { names: [...DEVICE_TYPES, ...defined.keys()], defined },
  }
  let phase: Phase = { state: 'starting', httpUrl: undefined }
  const { metricsToken } = options
  const all = toRoutes(services, { version, phase: () => phase, metricsToken })
  const routes = all
    .filter(({ path }) => options.onlyProbes !== true || PROBES.has(path))
    .filter(({ path }) => options.metricsElsewhere !== true || path !== metrics.path)
  const downloads = new Downloads({
    ...{ ...options, ...settings.ota, silenceMs: silenceLimits.downloadMs },
    places: options.apiStores.downloadPlaces,
  })
  const hasDdi = settings.ota.ddi && options.onlyProbes !== true
  const redirects = settings.ota.downloads === 'redirect'
  const artifacts = { firmware: engine.firmware, downloads, clock, redirects }
  const app = buildApp({
    artifacts,
    onlyProbes: options.onlyProbes,
    serveMore: hasDdi ? (to, rates) => serveDdi(to, { services, rates, tls: options.tls }) : undefined,
    services,
    routes,
    logger: options.logger,
    onRequestDone: options.onRequestDone,
    hosts: options.hosts,
    pages: options.onlyProbes === true ? undefined : options.pages,
    hasDashboard: options.hasDashboard ?? false,
    schedule: options.schedule,
    requestRates: settings.requestRates,
    rateShares,
    corsOrigins: settings.corsOrigins,
    trustedProxies: settings.trustedProxies,
    tls: options.tls,
    asksForCertificates: hasDdi,
    isDraining: () => phase.state === 'draining',
  })
  return {
    app,
    routes,
    authenticate,
    provisioning,
    tickets,
    loginTickets,
    work,
    downloads,
    setPhase(next: Partial<Phase>) {
      phase = { ...phase, ...next }
    },
  }
}

export async function openHttp(options: HttpOptions): Promise<HttpServer> {
  const { app, authenticate, provisioning, tickets, loginTickets, work, downloads, setPhase } =
    createHttp(options)
  const { host, httpPort } = options.settings
  try {
    await app.listen({ host, port: httpPort })
  } catch (error) {
    await app.close()
    throw toFault(error, { host, port: httpPort, setting: options.portSetting ?? 'FLEET_HTTP_PORT' })
  }
  const url = serviceUrl(options.tls === undefined ? 'http' : 'https', { host, port: portOf(app) })
  setPhase({ httpUrl: url })
  const { tls } = options
  tls?.onChange(() => {
    if (app.server instanceof TlsServer) app.server.setSecureContext(tls.context())
  })
  return {
    fastify: app,
    server: app.server,
    url,
    authenticate,
    provisioning,
    async issueLoginTicket(userId) {
      const { token } = await options.tokens.issueAccess({ userId, at: options.clock.now() })
      return await loginTickets.issue(userId, token)
    },
    redeemTicket: (ticket) => tickets.redeem(ticket),
    work,
    downloads: () => downloads.counts(),
    setReady: () => setPhase({ state: 'serving' }),
    drain: () => setPhase({ state: 'draining' }),
    async close() {
      setPhase({ state: 'draining' })
      const drainTimer = setTimeout(() => app.server.closeAllConnections(), API_LIMITS.drainTimeoutMs)
      try {
        await app.close()
      } finally {
        clearTimeout(drainTimer)
      }
    },
  }
}

function portOf(app: FastifyInstance): number {
  const address = app.server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

function toFault(
  error: unknown,
  { host, port, setting }: { host: string; port: number; setting: string },
): unknown {
  const message = listenProblem(error, { host, port: `port ${port}`, setting })
  return message === undefined ? error : new Fault('PORT_IN_USE', { retryable: false, message, cause: error })
}
