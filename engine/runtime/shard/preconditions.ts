// Whether a device meets the preconditions of its deployments, by its record and its newest telemetry.
import type { DeploymentId } from '../../../schemas/ids.ts'
import type { DeviceRequest } from '../../domain/device/events.ts'
import type { Device } from '../../domain/device/record.ts'
import { jobOf } from '../../domain/ota/firmware-jobs.ts'
import { isMet, type PreconditionFacts } from '../../domain/ota/precondition.ts'
import { type Actor, isConnected } from './actor.ts'

const NONE: readonly DeploymentId[] = []

/** Deployments with a job that waits on the device, and whose preconditions the device does not meet now. */
export function unmetBy(actor: Actor, device: Device = actor.device): readonly DeploymentId[] {
  const asking = device.firmware.jobs.filter(
    ({ plan, status, isGranted }) => plan.preconditions !== undefined && status === 'pending' && !isGranted,
  )
  if (asking.length === 0) return NONE
  const sighting = sightingOf(actor, device)
  return asking.flatMap(({ plan }) =>
    plan.preconditions === undefined || isMet(plan.preconditions, sighting) ? [] : plan.deploymentId,
  )
}

/** Whether to decline a place that was just given, because the device no longer meets the preconditions. */
export function declinesGrant(actor: Actor | undefined, device: Device, request: DeviceRequest): boolean {
  if (actor === undefined || request.kind !== 'ota_grant') return false
  const job = jobOf(device.firmware, request.deploymentId)
  return job?.plan.preconditions !== undefined && unmetBy(actor, device).includes(request.deploymentId)
}

function sightingOf(actor: Actor, { status }: Device): PreconditionFacts {
  const values = new Map(actor.latest?.toMetrics().map(({ metric, value }) => [metric, value]))
  return {
    status,
    isConnected: isConnected(actor),
    newestOf(metric) {
      const value = values.get(metric)
      if (typeof value === 'boolean') return Number(value)
      return typeof value === 'number' || typeof value === 'string' ? value : undefined
    },
  }
}
