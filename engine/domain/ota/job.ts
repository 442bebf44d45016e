// One device's part in a deployment. Pure data in the device's record, changed only by `job-moves.ts`.
import type { Condition } from '../../../schemas/alert-condition.ts'
import type { DeploymentId, FirmwareId, Micros, Millis } from '../../../schemas/ids.ts'
import type { JobStatus, RetryCause } from '../../../schemas/vocabulary.ts'

/** The firmware that the device is to run in the end. */
export interface JobGoal {
  readonly firmwareId: FirmwareId
  readonly version: string
  /** The version that a device reports when it runs the goal. */
  readonly reportsAs: string
  readonly sha256: string
}

/** Everything that the deployment decided about the job. It never changes. */
export interface JobPlan {
  readonly deploymentId: DeploymentId
  readonly kind: 'install' | 'rollback'
  readonly goal: JobGoal
  /** Number of its stage in the deployment. */
  readonly stage: number
  readonly proof: 'reconnect' | 'report'
  readonly downloadSec: number
  readonly installSec: number
  readonly rebootSec: number
  readonly confirmSec: number
  readonly stableSec: number
  readonly retriesMax: number
  readonly backoffSec: readonly number[]
  readonly retryOn: readonly RetryCause[]
  readonly offlineTtlSec: number
  readonly rollsBack: boolean
  readonly force: boolean
  /** When the deployment begins; until then a device may be offline. Undefined means at once. */
  readonly startAt?: Millis | undefined
  /** The condition that must hold on the device before it begins. */
  readonly preconditions?: Condition | undefined
}

export interface JobError {
  readonly code: string
  readonly message: string
}

/** The delivery of a message that the device has to acknowledge. */
export interface MessageDelivery {
  /** Messages sent so far without a PUBACK. */
  readonly sends: number
  readonly sentAt: Millis | undefined
  /** Numbers of the sessions in which it was first and last sent. */
  readonly firstIn: Micros | undefined
  readonly sentIn: Micros | undefined
}

export const NOT_SENT: MessageDelivery = Object.freeze({
  sends: 0,
  sentAt: undefined,
  firstIn: undefined,
  sentIn: undefined,
})

export interface Suspect {
  readonly until: Millis
  /** How long that is; `otaSuspectMs` if missing. */
  readonly forMs?: number
  readonly version: string | undefined
}

/** Replaced as a whole on change. The same reference means unchanged (R7). */
export interface Job {
  readonly plan: JobPlan
  readonly createdAt: Millis
  readonly status: JobStatus
  /** When the timer of the status started. */
  readonly since: Millis
  /** True while it takes one of the deployment's slots: from the grant to its end or a deferral. */
  readonly isGranted: boolean
  /** Grants so far. A grant that is not the next one is a repetition. */
  readonly grants: number
  /** The number of the current attempt, 0 before the first grant. */
  readonly attempt: number
  /** Attempts that count against `retriesMax`. A manual retry resets it. */
  readonly tries: number
  /** No install begins after this time. */
  readonly notAfter: Millis | undefined
  readonly telling: MessageDelivery
  /** The delivery of the cancellation to the device; undefined if there is nothing to deliver. */
  readonly notice: MessageDelivery | undefined
  /** Restarts before the installation in this attempt. */
  readonly restarts: number
  /** Its session ended before it installed anything, so the next session may be that of a restarted device. Not set when the
   *  session ended with the service. Missing in records of earlier releases. */
  readonly wasLost?: boolean
  /** Connections lost while confirming in this attempt. */
  readonly losses: number
  readonly deferrals: number
  /** It does not start before this time, for the reason in `waitsFor`. */
  readonly notBefore: Millis | undefined
  readonly waitsFor: 'deferred' | 'backoff' | undefined
  readonly refreshedAt: Millis | undefined
  /** When its download was last refused in this attempt because the image could not be read. */
  readonly waitedAt: Millis | undefined
  /** Since when the device has been unreachable; undefined while it is reachable. */
  readonly awaySince: Millis | undefined
  readonly fromVersion: string | undefined
  /** The device had faults before the update, so later faults prove nothing. */
  readonly wasInError: boolean
  /** Percent as of the last change of status. */
  readonly progress: number | undefined
  readonly bytesSent: number
  readonly error: JobError | undefined
  /** The proof came after the end of the job. */
  readonly late: boolean
  /** The device reported its reboot itself. Otherwise it was concluded from the end of its session. */
  readonly isRebootSaid: boolean
  /** The number of the latest session in which a report of the device moved the job. */
  readonly seenIn: Micros | undefined
  /** Set while it is unknown whether the device restarted or only lost its connection. */
  readonly suspect: Suspect | undefined
  /** The device was seen to run the goal. If not set in `confirming`, it only reported success. */
  readonly isProved: boolean
  readonly notifiedAt: Millis | undefined
  readonly downloadingAt: Millis | undefined
  readonly downloadedAt: Millis | undefined
  readonly installingAt: Millis | undefined
  readonly rebootingAt: Millis | undefined
  readonly confirmingAt: Millis | undefined
  readonly finishedAt: Millis | undefined
  /** The status in which the job failed or timed out. */
  readonly failedIn: JobStatus | undefined
  /** `due`: the device has to roll back, and waits for a slot. */
  readonly rollback: 'due' | undefined
  /** The rollback, while `rolling_back` and afterwards. */
  readonly back: Job | undefined
}

export function newJob(plan: JobPlan, about: Pick<Job, 'createdAt' | 'fromVersion' | 'awaySince'>): Job {
  return {
    plan,
    ...about,
    status: 'pending',
    since: about.createdAt,
    isGranted: false,
    grants: 0,
    attempt: 0,
    tries: 0,
    notAfter: undefined,
    telling: NOT_SENT,
    notice: undefined,
    restarts: 0,
    wasLost: false,
    losses: 0,
    deferrals: 0,
    notBefore: undefined,
    waitsFor: undefined,
    refreshedAt: undefined,
    waitedAt: undefined,
    wasInError: false,
    progress: undefined,
    bytesSent: 0,
    error: undefined,
    late: false,
    isRebootSaid: false,
    seenIn: undefined,
    suspect: undefined,
    isProved: false,
    notifiedAt: undefined,
    downloadingAt: undefined,
    downloadedAt: undefined,
    installingAt: undefined,
    rebootingAt: undefined,
    confirmingAt: undefined,
    finishedAt: undefined,
    failedIn: undefined,
    rollback: undefined,
    back: undefined,
  }
}
