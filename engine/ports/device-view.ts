import type { DeploymentId, FirmwareId, Millis } from '../../schemas/ids.ts'
import type { JobStatus } from '../../schemas/vocabulary.ts'
import type { DeviceRecord } from '../domain/device/record.ts'
import type { SeverityCounts } from './alerts.ts'

/** A device as users see it: its record, and facts that are only known live. */
export interface DeviceView {
  readonly device: DeviceRecord
  readonly connected: boolean
  /** Time of the last connect or disconnect. */
  readonly connectedSince: Millis | undefined
  readonly connectionReason: string | undefined
  readonly sessionId: string | undefined
  readonly ip: string | undefined
  /** Those of the topics `command` and `ota` that its connection has subscribed to. Missing if a node of an older build
   *  answered. */
  readonly subscriptions?: readonly string[] | undefined
  /** The device has connected many times in a short while. */
  readonly flapping: boolean
  readonly lastSeenAt: Millis | undefined
  readonly lastTelemetryAt: Millis | undefined
  /** Undefined if only the version is known. */
  readonly firmware?: FirmwareView | undefined
  /** Open alerts by severity; undefined if there is none. */
  readonly alerts?: SeverityCounts | undefined
}

export interface FirmwareView {
  /** The running image, if a deployment proved that it runs. */
  readonly firmwareId: FirmwareId | undefined
  readonly sha256: string | undefined
  readonly since: Millis | undefined
  readonly previousVersion: string | undefined
  /** The job that is running or waiting first. */
  readonly update:
    | {
        readonly deploymentId: DeploymentId
        readonly status: JobStatus
        readonly progress: number | undefined
      }
    | undefined
}
