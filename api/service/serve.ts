// Serves HTTP: REST and `/ws` if the node has the role `api`, probes and metrics in any case.
import { join } from 'node:path'
import { heartbeatTimeouts } from '../../engine/domain/device/heartbeat.ts'
import type { DeviceTypes } from '../../engine/domain/device-type/definition.ts'
import { type createEngine, createRepairs, type Ports, realSchedule } from '../../engine/index.ts'
import { createFirstAdmin, type FirstAdmin } from '../auth/first-admin.ts'
import type { OtaKeys } from '../auth/ota-keys.ts'
import { openPasswords } from '../auth/passwords.ts'
import type { Tokens } from '../auth/tokens.ts'
import { readAssets } from '../dashboard/assets.ts'
import { createDocs, joinPages } from '../dashboard/docs.ts'
import { createDashboard } from '../dashboard/serve.ts'
import { createKnownHosts, type KnownHosts } from '../http/known-hosts.ts'
import type { Pages } from '../http/pages.ts'
import { TrustedProxies } from '../http/trusted-proxies.ts'
import { createIds } from '../ids.ts'
import { API_LIMITS } from '../limits.ts'
import type { Logger } from '../logger.ts'
import { pageHeaders } from '../openapi/html-page.ts'
import { openSockets } from '../ws/sockets.ts'
import type { ApiStores } from './api-stores.ts'
import { openMetricsPort } from './metrics-port.ts'
import { type HttpServer, openHttp } from './open-http.ts'
import { handOverOf } from './password-file.ts'
import { watchService } from './service-metrics.ts'
import type { Settings } from './settings/settings.ts'
import { systemClock } from './system-clock.ts'
import type { TlsFiles } from './tls/tls-files.ts'

export interface ServeOptions {
  readonly engine: Awaited<ReturnType<typeof createEngine>>
  readonly ports: Pick<Ports, 'blobs' | 'clock' | 'log' | 'store' | 'telemetry' | 'users'>
  readonly apiStores: ApiStores
  readonly settings: Settings
  readonly tokens: Tokens
  readonly otaKeys: OtaKeys
  readonly tls: TlsFiles | undefined
  readonly logger: Logger
  /** `pagesPath` is the folder in which the build puts pages. */
  readonly build: { readonly version: string; readonly pagesPath: string }
  readonly customTypes: DeviceTypes
}

export interface ApiServer extends Pick<HttpServer, 'url' | 'setReady' | 'drain' | 'close'> {
  /** The first admin, if it was created by this start. */
  readonly admin: FirstAdmin | undefined
  readonly issueLoginTicket: HttpServer['issueLoginTicket']
  readonly provisioning: HttpServer['provisioning']
}

export async function serveApi(options: ServeOptions): Promise<ApiServer> {
  const { engine, ports, apiStores, settings, tokens, otaKeys, tls, logger, build, customTypes } = options
  const isApi = settings.profile.roles.includes('api')
  const passwords = openPasswords()
  const ids = createIds(systemClock)
  const admin = isApi
    ? await createFirstAdmin({
        ...{ users: ports.users, passwords, ids, clock: systemClock, settings },
        handOver: handOverOf(settings.profile, process.stdout.isTTY),
      })
    : undefined
  if (isApi && admin === undefined) logUnusedAdmin(settings, logger)
  const metrics = watchService(engine)
  const repairs = createRepairs(ports, { warn: (message, fields) => logger.warn(fields, message) })
  const hosts = knownHosts(settings, logger)
  const shared = {
    engine,
    users: ports.users,
    blobs: ports.blobs,
    repairs,
    apiStores,
    settings,
    tokens,
    otaJwks: otaKeys.jwks,
    passwords,
    logger,
    clock: systemClock,
    schedule: realSchedule,
    version: build.version,
    customTypes,
    metricsToken: settings.metrics.token,
    tls: settings.tls?.isHttp === true ? tls : undefined,
  }
  const metricsHttp =
    settings.metrics.port === undefined ? undefined : await openMetricsPort(shared, settings.metrics.port)
  const http = await openHttp({
    ...shared,
    hosts,
    pages: isApi ? openPages(options) : undefined,
    hasDashboard: settings.dashboard,
    onlyProbes: !isApi,
    metricsElsewhere: settings.metrics.port !== undefined,
    onRequestDone: metrics.requestDone,
  })
  const closeSockets = isApi ? await openWs(options, { http, metrics, hosts }) : async () => {}
  return {
    url: http.url,
    admin,
    provisioning: http.provisioning,
    issueLoginTicket: (userId) => http.issueLoginTicket(userId),
    setReady() {
      http.setReady()
      metricsHttp?.setReady()
    },
    drain() {
      http.drain()
      metricsHttp?.drain()
    },
    async close() {
      await closeSockets()
      await Promise.all([http.close(), metricsHttp?.close(), repairs.close()])
    },
  }
}

function openPages({ build, settings, logger }: ServeOptions): Pages {
  const read = (name: string, bytesMax: number) => {
    const folder = join(build.pagesPath, name)
    const found = readAssets(folder, bytesMax)
    if (found.kind !== 'assets')
      logger.warn(
        { why: found.kind, folder },
        'these pages cannot be served: run `npm run build` and start again, or set FLEET_DASHBOARD=off if it is the dashboard',
      )
    return found
  }
  const docs = createDocs(read('docs', API_LIMITS.docsBytesMax), pageHeaders())
  if (!settings.dashboard) return docs
  return joinPages(docs, createDashboard(read('dashboard', API_LIMITS.dashboardBytesMax)))
}

/** Undefined for a cluster without a configured public address, because proxies may reach it by names it does not know. */
function knownHosts({ profile, host, publicUrl, ota }: Settings, logger: Logger): KnownHosts | undefined {
  const publicUrls = [publicUrl, ota.publicUrl].filter((url) => url !== undefined)
  if (profile.kind === 'embedded' || publicUrl !== undefined) return createKnownHosts({ host, publicUrls })
  logger.warn(
    {},
    'the Host of requests is not checked, so web pages of others may reach this service by DNS rebinding: set FLEET_PUBLIC_URL',
  )
  return undefined
}

interface SocketParts {
  readonly http: HttpServer
  readonly metrics: ReturnType<typeof watchService>
  readonly hosts: KnownHosts | undefined
}

/** Opens `/ws`, and returns a function that closes it. */
async function openWs(
  { engine, ports, settings, logger, customTypes }: ServeOptions,
  { http, metrics, hosts }: SocketParts,
): Promise<() => Promise<void>> {
  const proxies = new TrustedProxies(settings.trustedProxies)
  const sockets = await openSockets({
    engine,
    users: ports.users,
    authenticate: http.authenticate,
    redeemTicket: http.redeemTicket,
    work: http.work,
    clock: systemClock,
    limits: {
      ...API_LIMITS,
      socketsMax: settings.sockets.connectionsMax,
      socketPingEverySec: settings.sockets.pingIntervalSec,
      socketPongSecMax: settings.sockets.pingTimeoutSec,
    },
    isKnownHost: (header) => hosts?.has(header) ?? true,
    clientOf: (request) => proxies.clientOf(request),
    ...heartbeatTimeouts(settings.heartbeatTimeoutMs, customTypes),
    publicUrl: () => (settings.publicUrl ?? http.url).replace(/\/$/, ''),
    schedule: realSchedule,
    logger,
  })
  sockets.attach(http.server)
  metrics.watchSockets(() => sockets.counts())
  metrics.watchDownloads(http.downloads)
  return () => sockets.close()
}

/** Warns about admin settings that have no effect: someone who lost the password may expect them to set a new one. */
function logUnusedAdmin({ adminEmail, adminPassword }: Settings, logger: Logger): void {
  if (adminEmail === undefined && adminPassword === undefined) return
  logger.info(
    {},
    'FLEET_ADMIN_EMAIL and FLEET_ADMIN_PASSWORD have no effect, because there are users already; `fleet users reset-password EMAIL` sets a new password',
  )
}
