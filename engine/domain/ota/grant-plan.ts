// Decides which jobs may start now: within the slots of each deployment, the downloads of all of them, rates and windows, and
// never a gateway together with one of its sub-devices.
import type { DeploymentId, DeviceId, Millis } from '../../../schemas/ids.ts'
import type { Deployment } from './deployment.ts'
import type { DeploymentCount } from './deployment-count.ts'
import { windowEnd } from './start-window.ts'

export interface Grant {
  readonly deploymentId: DeploymentId
  readonly deviceId: DeviceId
  readonly kind: 'start' | 'back'
  /** The number of the grant among those of its job. */
  readonly number: number
  readonly notAfter: Millis | undefined
  /** The version to roll back to. */
  readonly version: string | undefined
}

/** A deployment with its counts and its current slots. */
export interface RunningDeployment {
  readonly deployment: Deployment
  readonly count: DeploymentCount
  /** How many jobs may have a slot at the same time. */
  readonly window: number
  /** How many jobs may still start within the rate. */
  readonly startsLeft: number
}

export interface GrantPlan {
  readonly grants: readonly Grant[]
  /** Devices that have to wait because their gateway, or a sub-device of theirs, is being updated. */
  readonly heldByFamily: readonly Pick<Grant, 'deploymentId' | 'deviceId'>[]
}

/** Oldest deployments first, so that none waits for ever. */
export function planGrants(
  running: readonly RunningDeployment[],
  { downloadsMax, now }: { readonly downloadsMax: number; readonly now: Millis },
): GrantPlan {
  const holders = running.flatMap(({ count }) => count.holders)
  const families = new BusyFamilies()
  for (const { deviceId, parentId } of holders) families.add(deviceId, parentId)
  let downloads = downloadsMax - holders.filter(({ isDownloading }) => isDownloading).length
  const grants: Grant[] = []
  const heldByFamily: GrantPlan['heldByFamily'][number][] = []
  for (const each of running) {
    let free = each.window - each.count.holders.length
    let starts = each.startsLeft
    const tryGrant = (request: GrantRequest): void => {
      if (free <= 0 || downloads <= 0) return
      if (!families.canStart(request.deviceId, request.parentId)) {
        heldByFamily.push({ deploymentId: each.deployment.id, deviceId: request.deviceId })
        return
      }
      families.add(request.deviceId, request.parentId)
      free--
      downloads--
      const { deviceId, kind, number, notAfter, version } = request
      grants.push({ deploymentId: each.deployment.id, deviceId, kind, number, notAfter, version })
    }
    // Rollbacks come first.
    for (const request of rollbackRequests(each)) tryGrant(request)
    for (const request of startRequests(each, now)) {
      if (starts <= 0) break
      const before = grants.length
      tryGrant(request)
      if (grants.length > before) starts--
    }
  }
  return { grants, heldByFamily }
}

/** Why no job of the deployment may start; undefined if jobs may start. */
export function startHoldReason({ status, spec }: Deployment, now: Millis): 'paused' | 'window' | undefined {
  if (status === 'scheduled') return 'window'
  if (status !== 'pending' && status !== 'in_progress') return 'paused'
  return spec.windows.length > 0 && windowEnd(spec.windows, now) === undefined ? 'window' : undefined
}

interface GrantRequest extends Omit<Grant, 'deploymentId'> {
  readonly parentId: DeviceId | undefined
}

function rollbackRequests({ deployment, count }: RunningDeployment): readonly GrantRequest[] {
  if (!deployment.spec.rollbackOnFailure) return []
  return count.returners.map(({ deviceId, parentId, version }) => ({
    ...{ deviceId, parentId, version, kind: 'back', number: 0, notAfter: undefined },
  }))
}

/** Ordered by the time at which their devices became ready. */
function startRequests({ deployment, count }: RunningDeployment, now: Millis): readonly GrantRequest[] {
  if (startHoldReason(deployment, now) !== undefined) return []
  const { spec, stage, stages } = deployment
  if (stages[stage]?.state !== 'running') return []
  const notAfter = spec.windows.length === 0 ? undefined : windowEnd(spec.windows, now)
  const candidates = count.stages.slice(0, stage + 1).flatMap((each) => each.candidates)
  return candidates
    .toSorted((a, b) => a.since - b.since)
    .map(({ deviceId, parentId, grants }) => ({
      ...{ deviceId, parentId, kind: 'start', number: grants + 1, notAfter, version: undefined },
    }))
}

/** Devices that are being updated. They start nothing else meanwhile, nor do their gateways and sub-devices. */
class BusyFamilies {
  readonly #devices = new Set<DeviceId>()
  readonly #parents = new Set<DeviceId>()

  canStart(deviceId: DeviceId, parentId: DeviceId | undefined): boolean {
    const isBusy = (id: DeviceId) => this.#devices.has(id)
    return !isBusy(deviceId) && !this.#parents.has(deviceId) && !(parentId !== undefined && isBusy(parentId))
  }

  add(deviceId: DeviceId, parentId: DeviceId | undefined): void {
    this.#devices.add(deviceId)
    if (parentId !== undefined) this.#parents.add(parentId)
  }
}
