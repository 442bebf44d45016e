// The interface between a profile and the service.
import type { Ports } from '../../../engine/index.ts'
import type { Logger } from '../../logger.ts'
import type { ApiStores } from '../api-stores.ts'
import type { TlsFiles } from '../tls/tls-files.ts'

/** Prefix of all names that the service uses on servers which it may share with other programs. */
export const CLUSTER_NAME = 'fleet'

export interface ProfilePorts {
  readonly logger: Logger
  /** Undefined if TLS is not configured. */
  readonly tls: TlsFiles | undefined
  readonly build: { readonly version: string }
  /** The address at which this process serves HTTP, once it does. */
  readonly served: { httpUrl: string }
  /** Ends the process, because only a restart can help. */
  readonly fatal: (error: unknown) => void
}

export interface OpenProfile {
  readonly ports: Ports
  readonly apiStores: ApiStores
  /** Opens what devices need not wait for, such as ClickHouse. Resolves when everything responds. */
  openRest(): Promise<void>
  /** Releases everything else. Called after the engine is closed. */
  release(): Promise<void>
}
