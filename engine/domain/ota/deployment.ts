// A deployment: one firmware for many devices, in stages. Its record holds the request and the progress; the jobs of its
// devices are in the devices' own records.

import type { Condition } from '../../../schemas/alert-condition.ts'
import type { DeploymentId, DeviceId, Millis } from '../../../schemas/ids.ts'
import type { Comparison, DeploymentStatus, JobStatus, RetryCause } from '../../../schemas/vocabulary.ts'
import type { FirmwareRecord } from './firmware-record.ts'
import type { JobPlan } from './job.ts'
import type { StartWindow } from './start-window.ts'

const TARGET_TYPES = ['device', 'group', 'all', 'fleet', 'devices', 'tag', 'type', 'query'] as const
export type TargetType = (typeof TARGET_TYPES)[number]

/** A requirement on a metric of a stage's devices during its soak. */
export interface MetricGate {
  readonly metric: string
  readonly agg: 'avg' | 'min' | 'max' | 'p95' | 'last'
  readonly op: Comparison
  /** The value that the metric is compared with; with `relativeTo`, a multiple of its earlier value. */
  readonly value: number
  readonly relativeTo: 'before' | undefined
}

export interface Gate {
  readonly maxOffline: number
  readonly inError: number
  /** The gate fails if an alert of this severity or a worse one has fired since the update. */
  readonly alerts: 'warning' | 'critical' | undefined
  readonly metrics: readonly MetricGate[]
}

/** The condition for going on to the next stage. */
export interface StageRule {
  readonly soakSec: number
  /** Undefined if any share is enough. */
  readonly successPercent: number | undefined
  readonly gate: Gate
  readonly onGateFailure: 'abort' | 'pause'
  readonly approval: boolean
}

export interface Canary extends StageRule {
  readonly percent: number
  readonly count: number | undefined
  readonly devices: readonly DeviceId[] | undefined
}

/** One of several stages. `percent` of all devices includes earlier stages; `count` is for this stage alone. */
export interface StageSpec extends StageRule {
  readonly percent: number | undefined
  readonly count: number | undefined
  readonly maxConcurrent: number | undefined
}

/** The request, with every default filled in. */
export interface DeploymentSpec {
  readonly name: string | undefined
  readonly target: { readonly type: TargetType; readonly value: unknown }
  readonly strategy: 'all' | 'rolling' | 'canary' | 'stages'
  readonly maxConcurrent: number
  readonly ratePerMinute: number | undefined
  readonly ramp: { readonly start: number; readonly factor: number } | undefined
  readonly rollbackOnFailure: boolean
  readonly rollbackScope: 'failed' | 'deployment'
  readonly canary: Canary | undefined
  readonly stages: readonly StageSpec[] | undefined
  readonly abort: {
    readonly minFinished: number
    readonly failurePercent: number
    readonly failureCount: number | undefined
  }
  readonly timeouts: Pick<JobPlan, 'downloadSec' | 'installSec' | 'rebootSec' | 'confirmSec'>
  readonly retry: {
    readonly max: number
    readonly backoffSec: readonly number[]
    readonly on: readonly RetryCause[]
  }
  readonly proof: 'reconnect' | 'report'
  readonly stableSec: number
  readonly offlineTtlSec: number
  readonly startAt: Millis | undefined
  readonly windows: readonly StartWindow[]
  /** The condition that must hold on a device before it begins. */
  readonly preconditions: Condition | undefined
  readonly force: boolean
  readonly supersede: boolean
}

export type StageState = 'waiting' | 'running' | 'soaking' | 'awaiting_approval' | 'passed' | 'failed'

export interface Stage {
  readonly total: number
  /** The latest counts of its jobs that count. */
  readonly succeeded: number
  readonly failed: number
  readonly state: StageState
  readonly since: Millis
  /** When the stage began, or the deployment's creation if it has not begun. */
  readonly startedAt: Millis
}

/** The image as it was when the deployment was created. */
export type DeployedFirmware = Pick<
  FirmwareRecord,
  'id' | 'version' | 'deviceType' | 'reportsAs' | 'sha256' | 'sizeBytes' | 'filename'
>

const SKIP_REASONS = [
  'incompatible',
  'already_installed',
  'decommissioned',
  'from_version',
  'queue_full',
  'blocked',
] as const
export type OtaSkipReason = (typeof SKIP_REASONS)[number]

/** The number of its devices in each state. */
export type JobCounts = Readonly<Partial<Record<JobStatus, number>>>

export interface Deployment {
  readonly id: DeploymentId
  readonly kind: 'install' | 'rollback'
  readonly spec: DeploymentSpec
  readonly firmware: DeployedFirmware
  readonly status: DeploymentStatus
  readonly statusReason: string | undefined
  /** Missing in records of earlier releases. */
  readonly statusSince?: Millis | undefined
  /** Members, the skipped ones included. */
  readonly total: number
  readonly skipped: Readonly<Partial<Record<OtaSkipReason, number>>>
  /** The groups of its members. A user who may see all of them may see the deployment. */
  readonly groups: readonly (string | undefined)[]
  readonly stages: readonly Stage[]
  /** The number of the current stage. */
  readonly stage: number
  /** The figures because of which it was stopped, by rule or gate. */
  readonly evidence: Readonly<Record<string, unknown>>
  readonly createdBy: string
  readonly createdAt: Millis
  readonly startedAt: Millis | undefined
  readonly pausedAt: Millis | undefined
  readonly abortedAt: Millis | undefined
  readonly finishedAt: Millis | undefined
  /** The deployment ends by then at the latest. It is never extended. */
  readonly deadlineAt: Millis
  /** The latest count. It is final once the deployment has finished. */
  readonly counts: JobCounts
  /** Every member has been asked to take its job. None is asked again: devices forget jobs that ended long ago, and would
   *  take them once more. Missing in records of earlier releases. */
  readonly isEnlisted?: boolean
  /** Older jobs of its devices that it takes the place of have been cancelled. Missing in records of earlier releases. */
  readonly hasSuperseded?: boolean
  readonly revision: number
}

/** The members are a document of their own, because it may be large. */
export interface Members {
  /** The devices that get a job, by stage. */
  readonly stages: readonly (readonly DeviceId[])[]
  readonly skipped: readonly { readonly deviceId: DeviceId; readonly reason: OtaSkipReason }[]
}

export function isFinalStatus(status: DeploymentStatus): boolean {
  return ['completed', 'failed', 'aborted', 'cancelled', 'rolled_back'].includes(status)
}

/** The time by which the whole deployment is over, whatever happens. */
export function deadlineOf(spec: DeploymentSpec, createdAt: Millis): number {
  const { timeouts, retry, stableSec, offlineTtlSec, startAt, canary, stages = [] } = spec
  const { downloadSec, installSec, rebootSec, confirmSec } = timeouts
  const onceSec = downloadSec + installSec + rebootSec + confirmSec + stableSec
  let backoffSec = 0
  for (let i = 0; i < retry.max; i++)
    backoffSec += (retry.backoffSec[i] ?? retry.backoffSec.at(-1) ?? 0) * 1.2
  const soaksSec = stages.reduce((sum, { soakSec }) => sum + soakSec, canary?.soakSec ?? 0)
  const sec = offlineTtlSec + soaksSec + (retry.max + 1) * onceSec + backoffSec
  return Math.max(createdAt, startAt ?? 0) + Math.ceil(sec * 1_000)
}
