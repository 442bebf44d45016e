// Requests about firmware jobs to a device's actor, from the leader, from downloads and from the device itself.
import type { DeploymentId, FirmwareId, Micros, Millis } from '../../../schemas/ids.ts'
import type { JobGoal, JobPlan } from '../ota/job.ts'
import type { TimerContext } from '../ota/job-deadline.ts'
import type { OwnSession } from '../ota/job-sessions.ts'
import type { OtaReport } from '../ota/ota-report.ts'

/** These requests go through the log like any other. */
export type OtaRequest =
  | { readonly kind: 'ota_enlist'; readonly plan: JobPlan }
  | {
      readonly kind: 'ota_grant'
      readonly deploymentId: DeploymentId
      /** Number of the grant within its job. A repeated grant changes nothing. */
      readonly number: number
      readonly notAfter: Millis | undefined
    }
  | { readonly kind: 'ota_cancel'; readonly deploymentId: DeploymentId; readonly code: string }
  | { readonly kind: 'ota_retry'; readonly deploymentId: DeploymentId }
  | {
      readonly kind: 'ota_roll_back'
      readonly deploymentId: DeploymentId
      /** Undefined if there is no image to roll back to. */
      readonly goal: JobGoal | undefined
    }
  | { readonly kind: 'ota_unblock'; readonly firmwareId: FirmwareId }
  /** The first byte of its link was taken. */
  | { readonly kind: 'ota_began'; readonly deploymentId: DeploymentId }
  /** A download through its link was refused because the image cannot be loaded now. */
  | { readonly kind: 'ota_refused'; readonly deploymentId: DeploymentId }
  /** This many more bytes of its image were sent. */
  | { readonly kind: 'ota_sent'; readonly deploymentId: DeploymentId; readonly bytes: number }

export type OtaEvent =
  | { readonly kind: 'ota_reported'; readonly report: OtaReport; readonly session: Micros | undefined }
  /** The broker received the device's PUBACK. */
  | { readonly kind: 'ota_delivered'; readonly deploymentId: string }
  /** The device's connections changed. */
  | {
      readonly kind: 'ota_session'
      /** What happened to the device's own session, if anything. */
      readonly own: OwnSession | undefined
      /** Whether a live session takes messages about firmware. */
      readonly isReachable: boolean
    }
  | ({ readonly kind: 'ota_overdue' } & TimerContext)
