// One device's part in a deployment. Pure data: it moves by `job-moves.ts` alone, as part of the device's record.
import type { Condition } from '../../../schemas/alert-condition.ts'
import type { DeploymentId, FirmwareId, Micros, Millis } from '../../../schemas/ids.ts'
import type { JobStatus, RetryCause } from '../../../schemas/vocabulary.ts'

/** What is to run on the device in the end. */
export interface JobGoal {
  readonly firmwareId: FirmwareId
  readonly version: string
  /** What a device says that runs it. */
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
  /** The deployment begins then; a device may be away before. Undefined means at once. */
  readonly startAt?: Millis | undefined
  /** What has to be so on the device before it begins. */
  readonly preconditions?: Condition | undefined
}

export interface JobError {
  readonly code: string
  readonly message: string
}

/** How a message that the device has to acknowledge comes along. */
export interface Telling {
  /** Messages sent so far without a PUBACK. */
  readonly sends: number
  readonly sentAt: Millis | undefined
  /** Numbers of the sessions in which it was first and last sent. */
  readonly firstIn: Micros | undefined
  readonly sentIn: Micros | undefined
}

export const UNTOLD: Telling = Object.freeze({
  sends: 0,
  sentAt: undefined,
  firstIn: undefined,
  sentIn: undefined,
})

export interface Suspect {
  readonly until: Millis
  /** How long that is; missing where it is `otaSuspectMs`. */
  readonly forMs?: number
  readonly version: string | undefined
}

/** Replaced as a whole on change. The same reference means unchanged (R7). */
export interface Job {
  readonly plan: JobPlan
  readonly createdAt: Millis
  readonly status: JobStatus
  /** Time from which the timer of the status runs. */
  readonly since: Millis
  /** True while it takes up one of the deployment's places, from the grant to its end or a deferral. */
  readonly isGranted: boolean
  /** Grants so far. A grant that is not the next one is a repetition. */
  readonly grants: number
  /** Number of the current try, 0 before the first grant. */
  readonly attempt: number
  /** Tries that count against `retriesMax`; a retry by hand sets it back. */
  readonly tries: number
  /** No install begins after this time. */
  readonly notAfter: Millis | undefined
  readonly telling: Telling
  /** Tells a device that was sent a job that it is cancelled; undefined once there is nothing to tell. */
  readonly notice: Telling | undefined
  /** Restarts before installing, in this attempt. */
  readonly restarts: number
  /** Its session was seen to end before it installed anything, so the next one may be that of a device that restarted. A
   *  session that ended with the service says nothing of the kind. Missing in what was written before it was kept. */
  readonly wasLost?: boolean
  /** Connections lost while confirming, in this attempt. */
  readonly losses: number
  readonly deferrals: number
  /** It does not start before this time, for the reason beside it. */
  readonly notBefore: Millis | undefined
  readonly waitsFor: 'deferred' | 'backoff' | undefined
  readonly refreshedAt: Millis | undefined
  /** When its download was last sent away because the image could not be loaded then, in this attempt. */
  readonly waitedAt: Millis | undefined
  /** Time since which the device cannot be reached; undefined while it can be. */
  readonly awaySince: Millis | undefined
  readonly fromVersion: string | undefined
  /** It had faults before it began, so faults afterwards say nothing. */
  readonly wasInError: boolean
  /** Percent, as of the last change of status. */
  readonly progress: number | undefined
  readonly bytesSent: number
  readonly error: JobError | undefined
  /** Proved after its end. */
  readonly late: boolean
  /** The device said itself that it reboots; else it is concluded from the end of its session. */
  readonly isRebootSaid: boolean
  /** Number of the latest session in which the device said something that moved the job. */
  readonly seenIn: Micros | undefined
  /** Set while it is open whether the device restarted or only lost its connection. */
  readonly suspect: Suspect | undefined
  /** The device runs the goal. In `confirming` without it, the device only said so. */
  readonly isProved: boolean
  readonly notifiedAt: Millis | undefined
  readonly downloadingAt: Millis | undefined
  readonly downloadedAt: Millis | undefined
  readonly installingAt: Millis | undefined
  readonly rebootingAt: Millis | undefined
  readonly confirmingAt: Millis | undefined
  readonly finishedAt: Millis | undefined
  /** The status in which it failed or timed out. */
  readonly failedIn: JobStatus | undefined
  /** `due`: the device has to go back, and waits for a place. */
  readonly rollback: 'due' | undefined
  /** The way back, while `rolling_back` and after it. */
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
    telling: UNTOLD,
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
