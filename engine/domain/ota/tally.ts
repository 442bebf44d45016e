// The jobs of a deployment, counted on the shards that have them. The leader decides by these counts and keeps none of them.
import { type DeploymentId, type DeviceId, Millis } from '../../../schemas/ids.ts'
import type { AlertSeverity, DeviceStatus, HeldReason, JobStatus } from '../../../schemas/vocabulary.ts'
import { activeJob, isScheduled, isUnfinished } from './firmware-jobs.ts'
import type { Firmware } from './firmware-part.ts'
import type { Job } from './job.ts'
import { isDownloading, isEarly } from './job-table.ts'

/** A device's firmware, and everything else that decides whether it can be updated now. */
export interface FirmwareState {
  readonly deviceId: DeviceId
  readonly firmware: Firmware
  readonly firmwareVersion: string | undefined
  readonly status: DeviceStatus
  readonly parentId: DeviceId | undefined
  readonly isConnected: boolean
  readonly takesOta: boolean
  /** Deployments whose preconditions the device does not meet at the moment. */
  readonly unmet: readonly DeploymentId[]
  /** When the newest alerts of each severity fired. */
  readonly alertsAt: Readonly<Partial<Record<AlertSeverity, Millis>>>
}

export interface StartCandidate {
  readonly deviceId: DeviceId
  readonly parentId: DeviceId | undefined
  readonly grants: number
  readonly since: number
}

export interface SlotHolder {
  readonly deviceId: DeviceId
  readonly parentId: DeviceId | undefined
  readonly grants: number
  readonly isDownloading: boolean
}

/** A job that has to be rolled back once there is a slot for it. */
export interface RollbackCandidate {
  readonly deviceId: DeviceId
  readonly parentId: DeviceId | undefined
  readonly version: string | undefined
}

/** The jobs of one stage of one deployment on one shard. */
export interface JobTally {
  readonly deploymentId: DeploymentId
  readonly stage: number
  readonly counts: Readonly<Partial<Record<JobStatus, number>>>
  readonly held: Readonly<Partial<Record<HeldReason, number>>>
  /** How many were judged as failed, whatever happened to them later. */
  readonly failed: number
  readonly succeeded: number
  /** How many could start. `candidates` names them up to a limit. */
  readonly ready: number
  readonly candidates: readonly StartCandidate[]
  readonly holders: readonly SlotHolder[]
  readonly returners: readonly RollbackCandidate[]
  /** Devices whose job can still be cancelled. */
  readonly stoppable: readonly DeviceId[]
  /** Devices that succeeded, up to a limit. Without those that were decommissioned since. */
  readonly proved: readonly RollbackCandidate[]
  /** Devices that succeeded and are not well: offline, or in error. Named up to a limit. */
  readonly offline: readonly DeviceId[]
  readonly inError: readonly DeviceId[]
  readonly offlineCount: number
  readonly inErrorCount: number
  /** Devices for which alerts of this severity or a worse one have fired since. */
  readonly alerting: { readonly warning: readonly DeviceId[]; readonly critical: readonly DeviceId[] }
  readonly lastSuccessAt: Millis | undefined
  /** How many wait for their rollback. */
  readonly due: number
  /** How many have not ended, or wait for their rollback. */
  readonly unfinished: number
  readonly movedAt: Millis
}

/** Why the device keeps a pending job from starting. The deployment may have further reasons. */
function heldReason(job: Job, state: FirmwareState, now: Millis): HeldReason | undefined {
  if (job.status !== 'pending' || job.isGranted) return undefined
  // Compared by id, because a job whose wait is over comes here as a copy. A scheduled job waits for its time, not for others.
  const isFirst = activeJob(state.firmware, now)?.plan.deploymentId === job.plan.deploymentId
  if (!isFirst && !isScheduled(job, now)) return 'queued'
  if (job.waitsFor === 'deferred' || job.waitsFor === 'backoff') return job.waitsFor
  if (!state.isConnected) return 'offline'
  if (!state.takesOta) return 'not_subscribed'
  if (state.status === 'maintenance') return 'maintenance'
  return state.unmet.includes(job.plan.deploymentId) ? 'precondition' : undefined
}

/** Ignores a wait that is over. */
export function heldAt(job: Job, state: FirmwareState, now: Millis): HeldReason | undefined {
  const isOver = job.notBefore !== undefined && job.notBefore <= now
  return heldReason(isOver ? { ...job, waitsFor: undefined } : job, state, now)
}

/** What counts towards the abort, whatever happened to the job later; undefined while it is open, or if it does not count. */
function verdictOf({ status, plan, failedIn }: Job): 'succeeded' | 'failed' | undefined {
  if (plan.kind === 'rollback' && status === 'rolled_back') return 'succeeded'
  if (status === 'succeeded') return 'succeeded'
  if (status === 'failed' || status === 'timed_out' || status === 'rejected') return 'failed'
  if (plan.kind === 'rollback') return status === 'rollback_failed' ? 'failed' : undefined
  const isBack = status === 'rolling_back' || status === 'rolled_back' || status === 'rollback_failed'
  return isBack && failedIn !== undefined ? 'failed' : undefined
}

const NAMED_MAX = 1_000

/** Alerts count from when the new firmware began to run. */
function noteAlerts(alerting: OpenTally['alerting'], { deviceId, alertsAt }: FirmwareState, job: Job): void {
  const since = job.confirmingAt ?? job.finishedAt ?? job.since
  const isCritical = (alertsAt.critical ?? 0) >= since
  if (isCritical && alerting.critical.length < NAMED_MAX) alerting.critical.push(deviceId)
  if ((isCritical || (alertsAt.warning ?? 0) >= since) && alerting.warning.length < NAMED_MAX)
    alerting.warning.push(deviceId)
}

/** A tally that is still being counted. */
type OpenTally = { -readonly [Key in keyof JobTally]: JobTally[Key] } & {
  counts: Partial<Record<JobStatus, number>>
  held: Partial<Record<HeldReason, number>>
  candidates: StartCandidate[]
  holders: SlotHolder[]
  returners: RollbackCandidate[]
  stoppable: DeviceId[]
  proved: RollbackCandidate[]
  offline: DeviceId[]
  inError: DeviceId[]
  alerting: { warning: DeviceId[]; critical: DeviceId[] }
}

/** A stage without any counted job. */
export function emptyTally(deploymentId: DeploymentId, stage: number): OpenTally {
  return {
    deploymentId,
    stage,
    counts: {},
    held: {},
    failed: 0,
    succeeded: 0,
    ready: 0,
    candidates: [],
    holders: [],
    returners: [],
    stoppable: [],
    proved: [],
    offline: [],
    inError: [],
    offlineCount: 0,
    inErrorCount: 0,
    alerting: { warning: [], critical: [] },
    lastSuccessAt: undefined,
    due: 0,
    unfinished: 0,
    movedAt: Millis(0),
  }
}

/** Counts the jobs of some deployments, device by device. */
export class Tallies {
  readonly #open = new Map<string, OpenTally>()
  readonly #ids: ReadonlySet<DeploymentId>
  readonly #now: Millis
  #seed: number

  constructor(ids: readonly DeploymentId[], now: Millis) {
    this.#ids = new Set(ids)
    this.#now = now
    this.#seed = now >>> 0
  }

  add(state: FirmwareState, readySince: number): void {
    for (const job of state.firmware.jobs)
      if (this.#ids.has(job.plan.deploymentId)) this.#count(job, state, readySince)
  }

  all(): readonly JobTally[] {
    return [...this.#open.values()]
  }

  #count(job: Job, state: FirmwareState, readySince: number): void {
    const tally = this.#tallyOf(job)
    const { deviceId, parentId } = state
    const { status } = job
    tally.counts[status] = (tally.counts[status] ?? 0) + 1
    tally.movedAt = Millis(Math.max(tally.movedAt, job.since))
    const verdict = verdictOf(job)
    if (verdict === 'failed') tally.failed++
    if (verdict === 'succeeded') this.#succeeded(tally, job, state)
    if (job.rollback === 'due') tally.due++
    if (isUnfinished(job) || job.rollback === 'due') tally.unfinished++
    if (job.isGranted) {
      const at = job.status === 'rolling_back' ? job.back?.status : status
      const holder = { deviceId, parentId, grants: job.grants }
      tally.holders.push({ ...holder, isDownloading: at !== undefined && isDownloading(at) })
    }
    if (isEarly(status) && tally.stoppable.length < NAMED_MAX) tally.stoppable.push(deviceId)
    if (job.rollback === 'due' && state.takesOta)
      this.#name(tally.returners, { deviceId, parentId, version: job.fromVersion }, tally.due)
    if (status !== 'pending' || job.isGranted) return
    const held = heldAt(job, state, this.#now)
    if (held !== undefined) tally.held[held] = (tally.held[held] ?? 0) + 1
    else {
      tally.ready++
      const candidate = { deviceId, parentId, grants: job.grants, since: readySince }
      this.#name(tally.candidates, candidate, tally.ready)
    }
  }

  /** Adds the nth that could be named. If there are too many, chance decides which are: if always the same were, and had to
   *  wait for their gateway, all others would wait with them. */
  #name<Item>(named: Item[], item: Item, n: number): void {
    if (named.length < NAMED_MAX) named.push(item)
    else {
      const place = Math.floor(this.#chance() * n)
      if (place < NAMED_MAX) named[place] = item
    }
  }

  /** A number from 0 to 1 that depends on the time of the count only. */
  #chance(): number {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0
    return this.#seed / 2 ** 32
  }

  #succeeded(tally: OpenTally, job: Job, state: FirmwareState): void {
    const { deviceId, parentId, status, isConnected } = state
    tally.succeeded++
    const at = job.finishedAt ?? job.since
    if (tally.lastSuccessAt === undefined || at > tally.lastSuccessAt) tally.lastSuccessAt = at
    // It is not unwell, and cannot go back.
    if (status === 'decommissioned') return
    this.#name(tally.proved, { deviceId, parentId, version: job.fromVersion }, tally.succeeded)
    noteAlerts(tally.alerting, state, job)
    if (job.wasInError) return
    if (status === 'error') this.#name(tally.inError, deviceId, ++tally.inErrorCount)
    else if (status === 'offline' || !isConnected) this.#name(tally.offline, deviceId, ++tally.offlineCount)
  }

  #tallyOf({ plan: { deploymentId, stage } }: Job): OpenTally {
    const key = `${deploymentId} ${stage}`
    const known = this.#open.get(key)
    if (known !== undefined) return known
    const tally = emptyTally(deploymentId, stage)
    this.#open.set(key, tally)
    return tally
  }
}
