// Who gets a job of a deployment, in which stage, and why others do not.
import type { DeploymentId, DeviceId } from '../../../schemas/ids.ts'
import { isSameVersion } from '../../../schemas/same-version.ts'
import { LIMITS } from '../../limits.ts'
import { fnv1a } from '../fnv1a.ts'
import type { Canary, DeploymentSpec, Members, OtaSkipReason, StageSpec } from './deployment.ts'
import { isBlocked, queuedJobs } from './firmware-jobs.ts'
import type { FirmwareRecord } from './firmware-record.ts'
import { matchesGoal } from './proof.ts'
import { compareVersions } from './semver.ts'
import type { FirmwareState } from './tally.ts'

export interface AdmissionCandidate {
  readonly state: FirmwareState
  readonly type: string
}

function skipReason(
  { state, type }: AdmissionCandidate,
  record: FirmwareRecord,
  {
    force,
    isRollback,
    makesRoom,
    now,
  }: {
    readonly force: boolean
    readonly isRollback: boolean
    /** The jobs that wait are cancelled. */
    readonly makesRoom: boolean
    readonly now: number
  },
): OtaSkipReason | undefined {
  const { firmware, firmwareVersion: version } = state
  if (state.status === 'decommissioned') return 'decommissioned'
  if (type !== record.deviceType) return 'incompatible'
  if (!force && matchesGoal(record, { version, sha256: firmware.sha256 })) return 'already_installed'
  // The list of versions that may be replaced does not restrict a rollback.
  if (!isRollback && !mayReplace(record, version)) return 'from_version'
  if (!force && isBlocked(firmware, record.id, now)) return 'blocked'
  return !makesRoom && queuedJobs(firmware) >= LIMITS.jobsQueuedMax ? 'queue_full' : undefined
}

/** An unknown version never counts as one that may be replaced. */
function mayReplace({ fromVersions, minFromVersion }: FirmwareRecord, version: string | undefined): boolean {
  if (fromVersions.length > 0 && !fromVersions.some((from) => isSameVersion(from, version))) return false
  if (minFromVersion === undefined) return true
  const order = version === undefined ? undefined : compareVersions(version, minFromVersion)
  return order !== undefined && order >= 0
}

export function toMembers(
  candidates: readonly AdmissionCandidate[],
  record: FirmwareRecord,
  {
    id,
    spec,
    isRollback,
    now,
  }: {
    readonly id: DeploymentId
    readonly spec: DeploymentSpec
    readonly isRollback: boolean
    readonly now: number
  },
): Members {
  const admitted: FirmwareState[] = []
  const skipped: { readonly deviceId: DeviceId; readonly reason: OtaSkipReason }[] = []
  for (const each of candidates) {
    const { force, supersede } = spec
    const reason = skipReason(each, record, {
      force,
      isRollback,
      makesRoom: supersede || isRollback,
      now,
    })
    if (reason === undefined) admitted.push(each.state)
    else skipped.push({ deviceId: each.state.deviceId, reason })
  }
  if (spec.stages !== undefined)
    return { stages: splitIntoStages(rankDevices(admitted, id), spec.stages), skipped }
  const first = spec.canary === undefined ? admitted : pickCanaries(admitted, spec.canary, id)
  const ids = first.map(({ deviceId }) => deviceId)
  if (spec.canary === undefined) return { stages: [ids], skipped }
  const isFirst = new Set(ids)
  const rest = admitted.map(({ deviceId }) => deviceId).filter((each) => !isFirst.has(each))
  return { stages: rest.length === 0 ? [ids] : [ids, rest], skipped }
}

/** Devices named as canaries that get no job. */
export function missingCanaries({ canary }: DeploymentSpec, { stages }: Members): readonly DeviceId[] {
  const first = new Set(stages[0])
  if (stages.every((ids) => ids.length === 0)) return []
  return canary?.devices?.filter((id) => !first.has(id)) ?? []
}

/** The devices on which this firmware failed, so that only `force` offers it again. */
export function blockedDevices(
  candidates: readonly AdmissionCandidate[],
  record: FirmwareRecord,
  now: number,
): readonly DeviceId[] {
  return candidates
    .filter(({ state }) => isBlocked(state.firmware, record.id, now))
    .map(({ state }) => state.deviceId)
}

/** Reachable devices come first; which of them are first differs from deployment to deployment. */
function pickCanaries(
  admitted: readonly FirmwareState[],
  { devices, count, percent }: Canary,
  id: DeploymentId,
): readonly FirmwareState[] {
  if (devices !== undefined) return admitted.filter(({ deviceId }) => devices.includes(deviceId))
  const size = Math.min(admitted.length, count ?? Math.ceil((admitted.length * percent) / 100))
  return rankDevices(admitted, id).slice(0, size)
}

function rankDevices(admitted: readonly FirmwareState[], id: DeploymentId): readonly FirmwareState[] {
  const ranked = admitted.map((state) => ({
    state,
    awayRank: state.takesOta && state.status !== 'maintenance' ? 0 : 1,
    place: hashOf(`${id}/${state.deviceId}`),
  }))
  ranked.sort((a, b) => a.awayRank - b.awayRank || a.place - b.place)
  return ranked.map(({ state }) => state)
}

/** A stage may be empty in a small fleet. It passes at once. */
function splitIntoStages(states: readonly FirmwareState[], stages: readonly StageSpec[]): Members['stages'] {
  let from = 0
  return stages.map(({ percent, count }, i) => {
    const end = i === stages.length - 1 ? states.length : endOf({ percent, count, from, of: states.length })
    const ids = states.slice(from, end).map(({ deviceId }) => deviceId)
    from = Math.max(from, end)
    return ids
  })
}

function endOf({
  percent,
  count,
  from,
  of,
}: Pick<StageSpec, 'percent' | 'count'> & { readonly from: number; readonly of: number }): number {
  return Math.min(of, count === undefined ? Math.ceil((of * (percent ?? 100)) / 100) : from + count)
}

/** Mixed once more, so that ids that differ only in their last character do not stay neighbours. */
function hashOf(text: string): number {
  const hash = fnv1a(text)
  const mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) >>> 0
  return (mixed ^ (mixed >>> 13)) >>> 0
}
