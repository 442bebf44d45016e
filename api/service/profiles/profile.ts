// What a profile opens for the service.
import type { Ports } from '../../../engine/index.ts'
import type { Logger } from '../../logger.ts'
import type { ApiStores } from '../api-stores.ts'
import type { TlsFiles } from '../tls/tls-files.ts'

/** Of all that the service keeps in servers it may share with others. */
export const CLUSTER_NAME = 'fleet'

export interface ProfilePorts {
  readonly logger: Logger
  /** If TLS is set. */
  readonly tls: TlsFiles | undefined
  /** The process should end: only another one can go on. */
  readonly fatal: (error: unknown) => void
}

export interface OpenProfile {
  readonly ports: Ports
  readonly apiStores: ApiStores
  /** Opens what devices need not wait for, once they are let in; resolves when all of it answers. */
  openRest(): Promise<void>
  /** After the engine is closed: what is left to let go of. */
  release(): Promise<void>
}
