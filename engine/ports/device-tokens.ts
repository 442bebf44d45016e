// Tokens that connected devices ask for. Making them is the API layer's business.
import type { DeviceId } from '../../schemas/ids.ts'

export interface TokenWish {
  readonly deviceId: DeviceId
  /** Undefined: as long as may be. */
  readonly ttlSec: number | undefined
  /** Lifetime of the token that the device connected with; undefined if that is not known. */
  readonly lastsSec: number | undefined
}

export interface TokenAnswer {
  readonly mqtt_token: string
  readonly expires_at: string
}
