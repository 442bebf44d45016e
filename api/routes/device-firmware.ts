// The firmware of one device: version, jobs and rollback. Also the number of devices per version.
import type { Static } from 'typebox'
import type { DeploymentSpec } from '../../engine/domain/ota/deployment.ts'
import { grantedJob, isUnfinished, isUpdating, runningSha256 } from '../../engine/domain/ota/firmware-jobs.ts'
import type { Job } from '../../engine/domain/ota/job.ts'
import { matchesGoal } from '../../engine/domain/ota/proof.ts'
import { heldAt } from '../../engine/domain/ota/tally.ts'
import type { VersionsBody } from '../../schemas/deployment.ts'
import { type DeviceId, FirmwareId, toIso } from '../../schemas/ids.ts'
import {
  getDeployment,
  getDeviceFirmware,
  listFirmwareVersions,
  rollBackDevice,
  unblockFirmware,
} from '../../schemas/operations/deployments.ts'
import { isSameVersion } from '../../schemas/same-version.ts'
import { RETRY_CAUSES } from '../../schemas/vocabulary.ts'
import type { Caller } from '../auth/caller.ts'
import { scopeOf } from '../auth/scope.ts'
import { deviceNotFound, visibleDeviceId } from '../auth/visible-device.ts'
import { jobBody } from '../bodies/job-body.ts'
import { type Answer, answer } from '../http/answer.ts'
import type { RepeatKey } from '../http/repeats.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { type Refusal, refused } from '../refusal.ts'
import { createDeploymentFor } from './deployment-request.ts'

export function deviceFirmwareRoutes(services: Services): readonly Route[] {
  const { engine, clock } = services
  return [
    route(getDeviceFirmware, async ({ params, user }) => {
      const id = visibleDeviceId(engine, params.device_id, user)
      const state = id && (await engine.firmwareOf(id))
      if (id === undefined || state === undefined) return deviceNotFound()
      const { firmware } = state
      const now = clock.now()
      const jobs = [
        ...firmware.jobs.filter(isUnfinished),
        ...firmware.jobs.filter((job) => !isUnfinished(job)).reverse(),
      ]
      return answer(200, {
        device_id: id,
        firmware_version: state.firmwareVersion ?? null,
        firmware_id: firmware.firmwareId ?? null,
        sha256: runningSha256(firmware) ?? null,
        previous_version: firmware.previousVersion ?? null,
        blocks: firmware.blocks
          .filter(({ until }) => until > now)
          .map(({ firmwareId, until }) => ({ firmware_id: firmwareId, until: toIso(until) })),
        jobs: await Promise.all(
          jobs.map(async (job) => {
            const { deploymentId } = job.plan
            const untold = engine.firmware.downloads.unreportedBytes({ deploymentId, deviceId: id })
            const held = heldAt(job, state, now) ?? (await heldByDeployment(engine, id, job))
            return { ...jobBody(id, job, held, untold), reason: null }
          }),
        ),
      })
    }),
    route(unblockFirmware, async ({ params, user, sign }) => {
      const id = visibleDeviceId(engine, params.device_id, user)
      if (id === undefined) return deviceNotFound()
      const firmwareId = FirmwareId(params.firmware_id)
      const submitted = await engine.submit(
        id,
        { kind: 'ota_unblock', firmwareId },
        sign({ target: firmwareId }),
      )
      return submitted.kind === 'refused' ? submitted : answer(204, undefined)
    }),
    route(rollBackDevice, ({ params, body, user, repeatKey }) => {
      const id = visibleDeviceId(engine, params.device_id, user)
      if (id === undefined) return deviceNotFound()
      const { version, force = false } = body ?? {}
      return rollBack(services, id, { version: version ?? undefined, force, user, repeatKey })
    }),
    route(listFirmwareVersions, ({ query, user }) => answer(200, versions(services, query, user))),
  ]
}

/** Even if its device could start a job now, the job may have to wait for its deployment. */
async function heldByDeployment({ deployments }: Services['engine'], id: DeviceId, job: Job) {
  if (job.status !== 'pending' || job.isGranted) return undefined
  // Sorted by id, so an exact match comes before longer ids with this prefix.
  const page = await deployments.members(job.plan.deploymentId, { q: id, offset: 0, limit: 1 })
  const [member] = page?.jobs ?? []
  return member?.kind === 'job' ? member.held : undefined
}

interface RollbackCall {
  readonly version: string | undefined
  readonly force: boolean
  readonly user: Caller
  readonly repeatKey: RepeatKey | undefined
}

async function rollBack(services: Services, id: DeviceId, call: RollbackCall): Promise<Answer | Refusal> {
  const { engine } = services
  const device = engine.devices.get(id)
  const state = await engine.firmwareOf(id)
  if (device === undefined || state === undefined) return deviceNotFound()
  if (device.status === 'decommissioned') return refused('DEVICE_DECOMMISSIONED', { device_id: id })
  if (isUpdating(state.firmware) && !call.force) {
    const from = grantedJob(state.firmware)?.status
    return refused('INVALID_STATE_TRANSITION', {
      message: `the device is ${from} now: wait for the end, or say \`force\``,
      ...{ from, to: 'rolling_back', allowed: [] },
    })
  }
  const record = await previousOf(services, device.type, call.version ?? state.firmware.previousVersion)
  if (record === undefined)
    return refused('NO_PREVIOUS_FIRMWARE', { message: 'no firmware to go back to is known', device_id: id })
  const running = { version: state.firmwareVersion, sha256: state.firmware.sha256 }
  if (matchesGoal(record, running) && !call.force)
    return refused('NO_PREVIOUS_FIRMWARE', {
      message: `the device runs ${record.version} already: name another version, or say \`force\``,
      device_id: id,
    })
  const request = {
    kind: 'rollback',
    spec: rollbackSpec(id),
    firmwareId: record.id,
    members: { kind: 'named', deviceIds: [id] },
    by: call.user.id,
    mayPassBlocks: true,
  } as const
  const outcome = await createDeploymentFor(services, request, call.repeatKey)
  if (outcome.kind === 'refused') return outcome
  const { deployment } = outcome.state
  const body = {
    deployment_id: deployment.id,
    device_id: id,
    from_version: state.firmwareVersion ?? null,
    to_version: record.version,
    status: deployment.status,
  }
  return answer(202, body, { location: getDeployment.path.replace('{deployment_id}', deployment.id) })
}

/** The image of a version for this type, if it is still available. */
async function previousOf({ engine }: Services, type: string, version: string | undefined) {
  await engine.firmware.ready()
  for (const record of engine.firmware.all()) {
    const isMeant = isSameVersion(record.reportsAs, version) || isSameVersion(record.version, version)
    if (isMeant && record.deviceType === type && record.status !== 'yanked')
      return (await engine.firmware.hasImage(record)) ? record : undefined
  }
  return undefined
}

function rollbackSpec(id: DeviceId): DeploymentSpec {
  return {
    name: undefined,
    target: { type: 'device', value: id },
    strategy: 'all',
    maxConcurrent: 1_000,
    ratePerMinute: undefined,
    ramp: undefined,
    rollbackOnFailure: false,
    rollbackScope: 'failed',
    canary: undefined,
    stages: undefined,
    abort: { minFinished: 5, failurePercent: 20, failureCount: undefined },
    timeouts: { downloadSec: 1_800, installSec: 900, rebootSec: 600, confirmSec: 300 },
    retry: { max: 1, backoffSec: [60], on: RETRY_CAUSES },
    proof: 'reconnect',
    stableSec: 10,
    offlineTtlSec: 604_800,
    startAt: undefined,
    windows: [],
    preconditions: undefined,
    // A blocked version, or one that may not be replaced, is no obstacle for a rollback.
    force: true,
    supersede: false,
  }
}

type VersionRow = Static<typeof VersionsBody>['data'][number]

function versions(
  { engine }: Services,
  { group, type }: { readonly group?: string; readonly type?: string },
  user: Caller,
) {
  const ids = engine.devices.matching({ group, type, within: scopeOf(user) })
  const rows = new Map<string, VersionRow>()
  let total = 0
  for (const id of ids) {
    const device = engine.devices.get(id)
    if (device === undefined || device.status === 'decommissioned') continue
    total++
    const version = device.firmwareVersion ?? null
    const key = `${device.type} ${version ?? ''}`
    const row = rows.get(key) ?? { type: device.type, firmware_version: version, devices: 0, online: 0 }
    row.devices++
    if (device.status === 'online') row.online++
    rows.set(key, row)
  }
  return { data: [...rows.values()].sort(byDevices), total }
}

/** Versions with the most devices first, then by type and version, with the unknown version last. */
function byDevices(a: VersionRow, b: VersionRow): number {
  if (a.devices !== b.devices) return b.devices - a.devices
  if (a.type !== b.type) return a.type < b.type ? -1 : 1
  if (a.firmware_version === null || b.firmware_version === null) return a.firmware_version === null ? 1 : -1
  return a.firmware_version < b.firmware_version ? -1 : 1
}
