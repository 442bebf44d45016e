import type { DeploymentId, FirmwareId, Millis } from '../../schemas/ids.ts'
import type { JobStatus } from '../../schemas/vocabulary.ts'
import type { DeviceRecord } from '../domain/device/record.ts'
import type { SeverityCounts } from './alerts.ts'

/** A device as users see it: its record and what is only known live. */
export interface DeviceView {
  readonly device: DeviceRecord
  readonly connected: boolean
  /** Time of the last connect or disconnect. */
  readonly connectedSince: Millis | undefined
  readonly connectionReason: string | undefined
  readonly sessionId: string | undefined
  readonly ip: string | undefined
  /** Those of the topics `command` and `ota` that its connection has subscribed to. Left out by a node of an older build. */
  readonly subscriptions?: readonly string[] | undefined
  /** It has connected many times in a short while. */
  readonly flapping: boolean
  readonly lastSeenAt: Millis | undefined
  readonly lastTelemetryAt: Millis | undefined
  /** Undefined if nothing is known of it but its version. */
  readonly firmware?: FirmwareView | undefined
  /** Open alerts by severity; undefined if there is none. */
  readonly alerts?: SeverityCounts | undefined
}

export interface FirmwareView {
  /** The image that runs, if a deployment proved it. */
  readonly firmwareId: FirmwareId | undefined
  readonly sha256: string | undefined
  readonly since: Millis | undefined
  readonly previousVersion: string | undefined
  /** The job that runs or waits first. */
  readonly update:
    | {
        readonly deploymentId: DeploymentId
        readonly status: JobStatus
        readonly progress: number | undefined
      }
    | undefined
}
