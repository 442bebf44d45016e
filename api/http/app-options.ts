// What the API over HTTP needs.
import type { SecureContextOptions } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import type { Schedule } from '../../engine/ports/schedule.ts'
import type { Logger } from '../logger.ts'
import type { RateShares } from '../rates/rate-shares.ts'
import type { Rates, RequestRates } from '../rates/rates.ts'
import type { ArtifactsTools } from './artifacts.ts'
import type { KnownHosts } from './known-hosts.ts'
import type { Pages } from './pages.ts'
import type { Route } from './route.ts'
import type { Services } from './services.ts'

export interface FinishedRequest {
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
  readonly onRequestDone?: ((done: FinishedRequest) => void) | undefined
  /** While it returns true, answers carry `connection: close`, so that clients connect to another node. */
  readonly isDraining: () => boolean
  /** Accepted values of the `Host` header. If undefined, any host is accepted. */
  readonly hosts: KnownHosts | undefined
  readonly pages?: Pages | undefined
  /** Adds routes that are not part of the REST API. */
  readonly serveMore?: ((app: FastifyInstance, rates: Rates) => void) | undefined
  /** If true, the download links of devices are not served. */
  readonly onlyProbes?: boolean | undefined
  /** If false, a browser that opens the service is redirected to the documentation. */
  readonly hasDashboard: boolean
  /** Serves firmware images to devices and users. */
  readonly artifacts: ArtifactsTools
  readonly schedule: Pick<Schedule, 'after'>
  readonly requestRates: RequestRates
  readonly rateShares: RateShares | undefined
  readonly corsOrigins: readonly string[]
  /** Addresses and networks whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[]
  /** The server speaks plain HTTP if this is undefined. */
  readonly tls?: { context(): SecureContextOptions } | undefined
  /** Devices may show certificates instead of tokens. */
  readonly asksForCertificates?: boolean | undefined
}
