// A deployment: one firmware for many devices, in stages. Its record says what was asked for and how far it is; what its
// devices do is in their own records.

import type { Condition } from '../../../schemas/alert-condition.ts'
import type { DeploymentId, DeviceId, FirmwareId, Millis } from '../../../schemas/ids.ts'
import type { Comparison, DeploymentStatus, JobStatus, RetryCause } from '../../../schemas/vocabulary.ts'
import type { StartWindow } from './start-window.ts'

const TARGET_TYPES = ['device', 'group', 'all', 'fleet', 'devices', 'tag', 'type', 'query'] as const
export type TargetType = (typeof TARGET_TYPES)[number]

/** A requirement on a metric of the devices of a stage, over the time of its soak. */
export interface MetricGate {
  readonly metric: string
  readonly agg: 'avg' | 'min' | 'max' | 'p95' | 'last'
  readonly op: Comparison
  /** What the metric is compared with; with `relativeTo`, how many times what it was before. */
  readonly value: number
  readonly relativeTo: 'before' | undefined
}

export interface Gate {
  readonly maxOffline: number
  readonly inError: number
  /** No alert of this severity, or of a worse one, since the update. */
  readonly alerts: 'warning' | 'critical' | undefined
  readonly metrics: readonly MetricGate[]
}

/** How a stage goes on to the next one. */
export interface StageRule {
  readonly soakSec: number
  /** Undefined where any share will do. */
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

/** One of several stages. `percent` is of all devices, with those of the stages before; `count` is of this stage alone. */
export interface StageWish extends StageRule {
  readonly percent: number | undefined
  readonly count: number | undefined
  readonly maxConcurrent: number | undefined
}

/** What was asked for, with every default filled in. */
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
  readonly stages: readonly StageWish[] | undefined
  readonly abort: {
    readonly minFinished: number
    readonly failurePercent: number
    readonly failureCount: number | undefined
  }
  readonly timeouts: {
    readonly downloadSec: number
    readonly installSec: number
    readonly rebootSec: number
    readonly confirmSec: number
  }
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
  /** What has to be so on a device before it begins. */
  readonly preconditions: Condition | undefined
  readonly force: boolean
  readonly supersede: boolean
}

export type StageState = 'waiting' | 'running' | 'soaking' | 'awaiting_approval' | 'passed' | 'failed'

export interface Stage {
  readonly total: number
  /** The last counts of its jobs that count. */
  readonly succeeded: number
  readonly failed: number
  readonly state: StageState
  readonly since: Millis
  /** When its turn came; the deployment's creation before that. */
  readonly startedAt: Millis
}

/** The image as it was when the deployment was made. */
export interface DeployedFirmware {
  readonly id: FirmwareId
  readonly version: string
  readonly deviceType: string
  readonly reportsAs: string
  readonly sha256: string
  readonly sizeBytes: number
  readonly filename: string
}

const SKIP_REASONS = [
  'incompatible',
  'already_installed',
  'decommissioned',
  'from_version',
  'queue_full',
  'blocked',
] as const
export type OtaSkipReason = (typeof SKIP_REASONS)[number]

/** How many of its devices are where. */
export type JobCounts = Readonly<Partial<Record<JobStatus, number>>>

export interface Deployment {
  readonly id: DeploymentId
  readonly kind: 'install' | 'rollback'
  readonly spec: DeploymentSpec
  readonly firmware: DeployedFirmware
  readonly status: DeploymentStatus
  readonly statusReason: string | undefined
  /** Missing in what was written before it was kept. */
  readonly statusSince?: Millis | undefined
  /** Members, the skipped ones included. */
  readonly total: number
  readonly skipped: Readonly<Partial<Record<OtaSkipReason, number>>>
  /** The groups of its members: who may see all of them may see it. */
  readonly groups: readonly (string | undefined)[]
  readonly stages: readonly Stage[]
  /** Number of the stage that runs. */
  readonly stage: number
  /** What failed the gate. */
  readonly evidence: Readonly<Record<string, unknown>>
  readonly createdBy: string
  readonly createdAt: Millis
  readonly startedAt: Millis | undefined
  readonly pausedAt: Millis | undefined
  readonly abortedAt: Millis | undefined
  readonly finishedAt: Millis | undefined
  /** No deployment is open after it, and none is ever extended. */
  readonly deadlineAt: Millis
  /** The last count. It stands once the deployment has finished. */
  readonly counts: JobCounts
  readonly revision: number
}

/** The members are a document of their own, because it may be large. */
export interface Members {
  /** Stage by stage: those that get a job. */
  readonly stages: readonly (readonly DeviceId[])[]
  readonly skipped: readonly { readonly deviceId: DeviceId; readonly reason: OtaSkipReason }[]
}

export function isFinalStatus(status: DeploymentStatus): boolean {
  return ['completed', 'failed', 'aborted', 'cancelled', 'rolled_back'].includes(status)
}

/** Time by which all of it is over, whatever happens. */
export function deadlineOf(spec: DeploymentSpec, createdAt: Millis): number {
  const { timeouts, retry, stableSec, offlineTtlSec, startAt, canary, stages = [] } = spec
  const { downloadSec, installSec, rebootSec, confirmSec } = timeouts
  const onceSec = downloadSec + installSec + rebootSec + confirmSec + stableSec
  let backoffSec = 0
  for (let i = 0; i < retry.max; i++)
    backoffSec += (retry.backoffSec[i] ?? retry.backoffSec.at(-1) ?? 0) * 1.2
  const soaksSec = stages.reduce((sum, { soakSec }) => sum + soakSec, canary?.soakSec ?? 0)
  const sec = offlineTtlSec + soaksSec + (retry.max + 1) * onceSec + backoffSec
  return (startAt ?? createdAt) + Math.ceil(sec * 1_000)
}
