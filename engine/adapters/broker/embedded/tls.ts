// What the embedded broker needs from TLS.
import type { SecureContextOptions } from 'node:tls'
import type { Revocations } from '../../../ports/client-certificate.ts'

export interface BrokerTls extends Revocations {
  /** Certificate and key. With a CA, devices may show certificates. */
  context(): SecureContextOptions
  /** The listener is called when any of it has changed. */
  onChange(listener: () => void): void
}
