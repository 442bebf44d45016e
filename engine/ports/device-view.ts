import type { Millis } from '../../schemas/ids.ts'
import type { DeviceRecord } from '../domain/device/record.ts'

/** A device as users see it: its record and what is only known live. */
export interface DeviceView {
  readonly device: DeviceRecord
  readonly connected: boolean
  /** Time of the last connect or disconnect. */
  readonly connectedSince: Millis | undefined
  readonly connectionReason: string | undefined
  readonly sessionId: string | undefined
  readonly ip: string | undefined
  /** It has connected many times in a short while. */
  readonly flapping: boolean
  readonly lastSeenAt: Millis | undefined
  readonly lastTelemetryAt: Millis | undefined
}
