// Tokens that connected devices ask for. The API layer issues them.
import type { DeviceId, Millis } from '../../schemas/ids.ts'

export interface TokenRequest {
  readonly deviceId: DeviceId
  /** Undefined means the longest lifetime allowed. */
  readonly ttlSec: number | undefined
  /** Lifetime of the token that the device connected with; undefined if unknown. */
  readonly tokenSec: number | undefined
  /** When that token was issued. Set if the broker does not know which tokens were revoked. */
  readonly issuedAt?: Millis | undefined
}

export interface TokenAnswer {
  readonly mqtt_token: string
  readonly expires_at: string
}
