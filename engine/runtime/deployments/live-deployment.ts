// An unfinished deployment as the leader works on it.
import type { DeploymentId, DeviceId, Millis } from '../../../schemas/ids.ts'
import { isSameVersion } from '../../../schemas/same-version.ts'
import type { HeldReason } from '../../../schemas/vocabulary.ts'
import { type Deployment, isFinalStatus, type Members } from '../../domain/ota/deployment.ts'
import { countOf, type DeploymentCount } from '../../domain/ota/deployment-count.ts'
import type { FirmwareRecord } from '../../domain/ota/firmware-record.ts'
import { startHoldReason } from '../../domain/ota/grant-plan.ts'
import type { JobGoal, JobPlan } from '../../domain/ota/job.ts'
import { isEarly } from '../../domain/ota/job-table.ts'
import type { FirmwareState, JobTally } from '../../domain/ota/tally.ts'
import type { DeploymentState } from '../../ports/deployments.ts'
import type { JobName } from '../../ports/ota.ts'
import type { GateWatch } from './gate-watch.ts'
import type { Pace } from './pace.ts'

export interface LiveDeployment {
  deployment: Deployment
  readonly members: Members
  /** How many members have their job, counted through all stages. */
  enlisted: number
  readonly pace: Pace
  readonly gate: GateWatch
  count: DeploymentCount
  /** Devices that waited for their gateway or a sub-device in the last round. */
  heldByFamily: ReadonlySet<DeviceId>
}

const NOTHING: readonly JobTally[] = []
const NOBODY: ReadonlySet<DeviceId> = new Set()

export function planOf(deployment: Deployment, stage: number): JobPlan {
  const { id, kind, firmware, spec } = deployment
  const { timeouts, retry, proof, stableSec, offlineTtlSec, startAt, force, preconditions } = spec
  return {
    deploymentId: id,
    kind,
    goal: {
      firmwareId: firmware.id,
      version: firmware.version,
      reportsAs: firmware.reportsAs,
      sha256: firmware.sha256,
    },
    stage,
    proof,
    ...timeouts,
    stableSec,
    retriesMax: retry.max,
    backoffSec: retry.backoffSec,
    retryOn: retry.on,
    offlineTtlSec,
    startAt,
    // A rollback is never rolled back.
    rollsBack: kind === 'install' && spec.rollbackOnFailure,
    force,
    preconditions,
  }
}

/** The firmware with this version for devices of the type. */
export function goalOf(
  records: Iterable<FirmwareRecord>,
  type: string | undefined,
  version: string | undefined,
): JobGoal | undefined {
  for (const { id, version: name, reportsAs, sha256, deviceType, status } of records)
    if (deviceType === type && status !== 'yanked' && isSameVersion(reportsAs, version))
      return { firmwareId: id, version: name, reportsAs, sha256 }
  return undefined
}

export function toLive(
  deployment: Deployment,
  members: Members,
  own: Pick<LiveDeployment, 'pace' | 'gate'>,
): LiveDeployment {
  return {
    deployment,
    members,
    // If an earlier leader did not get to the end, all members are asked again. That changes nothing where there is a job.
    enlisted: deployment.isEnlisted === true ? memberCount(members) : 0,
    ...own,
    count: countOf(deployment, NOTHING),
    heldByFamily: NOBODY,
  }
}

export function isEnlisted({ members, enlisted }: LiveDeployment): boolean {
  return enlisted >= memberCount(members)
}

/** Notes in the record that every member was asked. */
export function markEnlisted(deployment: Deployment, live: LiveDeployment): Deployment {
  return deployment.isEnlisted === true || !isEnlisted(live)
    ? deployment
    : { ...deployment, isEnlisted: true }
}

/** Whether older jobs of its devices have still to be cancelled. */
export function supersedes({ deployment }: Pick<LiveDeployment, 'deployment'>): boolean {
  const { spec, kind, hasSuperseded, status } = deployment
  return (spec.supersede || kind === 'rollback') && hasSuperseded !== true && !isFinalStatus(status)
}

/** The older jobs that have not begun. For a rollback, also those that have begun but changed nothing yet. */
export function supersededJobs(
  kind: Deployment['kind'],
  states: readonly (FirmwareState | undefined)[],
  isOlder: (id: DeploymentId) => boolean,
): readonly JobName[] {
  return states.flatMap((state) =>
    (state?.firmware.jobs ?? [])
      .filter(({ plan }) => isOlder(plan.deploymentId))
      .filter(({ status, isGranted }) =>
        kind === 'rollback' ? isEarly(status) : status === 'pending' && !isGranted,
      )
      .flatMap(({ plan }) => (state ? { deviceId: state.deviceId, deploymentId: plan.deploymentId } : [])),
  )
}

function memberCount({ stages }: Members): number {
  return stages.reduce((sum, ids) => sum + ids.length, 0)
}

/** Up to `most` members with their stages, after skipping the first `skipped` of all stages together. */
export function membersFrom({ stages }: Members, skipped: number, most: number) {
  const some: { readonly deviceId: DeviceId; readonly stage: number }[] = []
  let before = 0
  for (const [stage, ids] of stages.entries()) {
    const from = Math.max(0, skipped - before)
    for (const deviceId of ids.slice(from, from + most - some.length)) some.push({ deviceId, stage })
    before += ids.length
  }
  return some
}

/** If the whole deployment is rolled back, devices that succeeded go back, too. */
export function withScope({ deployment, count }: LiveDeployment): DeploymentCount {
  if (deployment.status !== 'rolling_back' || deployment.spec.rollbackScope !== 'deployment') return count
  const known = new Set(count.returners.map(({ deviceId }) => deviceId))
  const more = count.stages.flatMap(({ proved }) => proved).filter(({ deviceId }) => !known.has(deviceId))
  return { ...count, returners: [...count.returners, ...more] }
}

/** How many jobs may have a place at the same time. Both the pace and the stage limit it. */
export function windowOf({
  deployment: { spec, stage },
  pace,
}: Pick<LiveDeployment, 'deployment' | 'pace'>): number {
  return Math.min(pace.window, spec.stages?.[stage]?.maxConcurrent ?? Number.POSITIVE_INFINITY)
}

export function toState(live: LiveDeployment, now: Millis): DeploymentState {
  return { deployment: live.deployment, held: heldOf(live, now), window: windowOf(live) }
}

/** Why a job that is ready does not start. */
export function heldByDeployment(
  deployment: Deployment,
  {
    stage,
    isFamilyBusy,
    now,
  }: { readonly stage: number; readonly isFamilyBusy: boolean; readonly now: Millis },
): HeldReason {
  const isStageOver = deployment.stages[deployment.stage]?.state !== 'running'
  const byStage = stage > deployment.stage || isStageOver ? 'stage' : undefined
  return startHoldReason(deployment, now) ?? byStage ?? (isFamilyBusy ? 'gateway' : 'slot')
}

function heldOf({ deployment, count, heldByFamily }: LiveDeployment, now: Millis): DeploymentState['held'] {
  const held: Partial<Record<HeldReason, number>> = { ...count.held }
  const add = (reason: HeldReason, jobs: number) => {
    if (jobs > 0) held[reason] = (held[reason] ?? 0) + jobs
  }
  for (const [stage, { ready }] of count.stages.entries()) {
    const reason = heldByDeployment(deployment, { stage, isFamilyBusy: false, now })
    const busy = reason === 'slot' ? Math.min(ready, heldByFamily.size) : 0
    add('gateway', busy)
    add(reason, ready - busy)
  }
  return held
}
