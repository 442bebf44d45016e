// Tokens that connected devices ask for. Making them is the API layer's business.
import type { DeviceId, Millis } from '../../schemas/ids.ts'

export interface TokenWish {
  readonly deviceId: DeviceId
  /** Undefined: as long as may be. */
  readonly ttlSec: number | undefined
  /** Lifetime of the token that the device connected with; undefined if that is not known. */
  readonly lastsSec: number | undefined
  /** When that token was issued, if the broker does not know which ones were revoked. */
  readonly issuedAt?: Millis | undefined
}

export interface TokenAnswer {
  readonly mqtt_token: string
  readonly expires_at: string
}
