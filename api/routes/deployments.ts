// /ota/deployments: rollouts of firmware to devices.
import type { Deployment } from '../../engine/domain/ota/deployment.ts'
import { jobActions } from '../../engine/domain/ota/job-table.ts'
import type {
  DeploymentAction,
  DeploymentRequest,
  DeploymentState,
  MemberJob,
} from '../../engine/ports/deployments.ts'
import type { JobBody } from '../../schemas/deployment.ts'
import { DeploymentId, type DeviceId, parseDeviceId } from '../../schemas/ids.ts'
import {
  approveDeployment,
  cancelDeployment,
  cancelDeploymentDevice,
  createDeployment,
  getDeployment,
  listDeploymentDevices,
  listDeployments,
  pauseDeployment,
  resumeDeployment,
  retryDeploymentDevice,
} from '../../schemas/operations/deployments.ts'
import type { Caller } from '../auth/caller.ts'
import { isInScope, scopeOf } from '../auth/scope.ts'
import { deviceNotFound } from '../auth/visible-device.ts'
import { deploymentBody, memberBody } from '../bodies/deployment-body.ts'
import { targetPreview } from '../bodies/target-preview.ts'
import { type Answer, answer } from '../http/answer.ts'
import { parseIfMatch, quoted } from '../http/etag.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import type { RepeatKey } from '../http/repeats.ts'
import { type Route, route, type SignedCall } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { parseSpan, type Span } from '../http/span.ts'
import { type Refusal, refused } from '../refusal.ts'
import { createDeploymentFor, findFirmware, toMembers, toSpec } from './deployment-request.ts'
import { deviceFirmwareRoutes } from './device-firmware.ts'

const FIRST_PAGE = 50

export function deploymentRoutes(services: Services): readonly Route[] {
  const { engine } = services
  return [
    route(createDeployment, ({ body, query, user, repeatKey }) =>
      create(services, { body, isDryRun: query.dry_run === true, user, repeatKey }),
    ),
    route(listDeployments, async ({ query, user, url }) => {
      const deviceId = query.device_id === undefined ? undefined : parseDeviceId(query.device_id)
      const span = parseSpan(query, services.clock.now())
      if (span.kind === 'refused') return span
      const states = (await engine.deployments.list(deviceId)).filter(
        ({ deployment }) => isVisible(deployment, user) && fits(deployment, query, span),
      )
      const window = toWindow(query)
      const shown = states.slice(window.offset, window.offset + window.perPage)
      return pageAnswer(shown.map(deploymentBody), states.length, window, url)
    }),
    route(getDeployment, async ({ params, user }) => {
      const state = await find(services, params.deployment_id, user)
      return state === undefined ? deploymentNotFound() : stateAnswer(services, state)
    }),
    route(listDeploymentDevices, async ({ params, query, user, url }) => {
      const state = await find(services, params.deployment_id, user)
      if (state === undefined) return deploymentNotFound()
      const { id } = state.deployment
      const window = toWindow(query)
      const { status, held, group, q } = query
      const page = await engine.deployments.members(id, {
        ...{ offset: window.offset, limit: window.perPage, status, held, group, q },
      })
      if (page === undefined) return deploymentNotFound()
      return pageAnswer(
        page.jobs.map((job) => bodyOf(services, id, job)),
        page.total,
        window,
        url,
      )
    }),
    action(services, pauseDeployment, 'pause'),
    action(services, resumeDeployment, 'resume'),
    action(services, approveDeployment, 'approve'),
    action(services, cancelDeployment, 'cancel'),
    route(retryDeploymentDevice, (call) => actOnJob(services, 'retry', call)),
    route(cancelDeploymentDevice, (call) => actOnJob(services, 'cancel', call)),
    ...deviceFirmwareRoutes(services),
  ]
}

interface CreateCall {
  readonly body: Parameters<typeof toSpec>[0]
  readonly isDryRun: boolean
  readonly user: Caller
  readonly repeatKey: RepeatKey | undefined
}

async function create(services: Services, call: CreateCall): Promise<Answer | Refusal> {
  const { engine, ids } = services
  const { body, isDryRun, user, repeatKey } = call
  const spec = toSpec(body, services.clock.now())
  if (spec.kind === 'refused') return spec
  await engine.firmware.ready()
  const firmware = findFirmware(services, body)
  if (firmware.kind === 'refused') return firmware
  const members = toMembers(services, body.target, user)
  if (members.kind === 'refused') return members
  const request = {
    kind: 'install',
    spec: spec.spec,
    firmwareId: firmware.record.id,
    members: members.members,
    by: user.id,
    mayPassBlocks: user.role === 'admin',
    expectedTotal: body.expected_total,
  } as const
  if (isDryRun) return preview(services, { ...request, id: DeploymentId(ids.next('dep_')) })
  const outcome = await createDeploymentFor(services, request, repeatKey)
  if (outcome.kind === 'refused') return outcome
  const { state } = outcome
  const location = `${createDeployment.path}/${state.deployment.id}`
  return stateAnswer(services, state, { status: 201, headers: { location } })
}

/** Shows which devices a deployment would include, without creating it. */
async function preview({ engine }: Services, request: DeploymentRequest): Promise<Answer | Refusal> {
  const planned = await engine.deployments.plan(request)
  if (planned.kind === 'refused') return planned
  const { stages, skipped } = planned.members
  const reasons = new Map(skipped.map(({ deviceId, reason }) => [deviceId, reason]))
  const ids = [...stages.flat(), ...reasons.keys()].sort()
  const devices = ids.flatMap((id) => engine.devices.summary(id) ?? [])
  return answer(
    200,
    targetPreview(devices, ({ id }) => reasons.get(id)),
  )
}

function action(
  services: Services,
  operation:
    | typeof pauseDeployment
    | typeof resumeDeployment
    | typeof approveDeployment
    | typeof cancelDeployment,
  act: DeploymentAction,
): Route {
  return route(operation, async ({ params, user, header }) => {
    const state = await find(services, params.deployment_id, user)
    if (state === undefined) return deploymentNotFound()
    const { id, revision } = state.deployment
    const condition = parseIfMatch(header('if-match'), revision)
    if (condition.kind === 'stale')
      return refused('PRECONDITION_FAILED', { expected: quoted(String(revision)), got: header('if-match') })
    const ifRevision = condition.kind === 'revision' ? condition.revision : undefined
    const outcome = await services.engine.deployments.act(id, act, ifRevision)
    return outcome.kind === 'refused' ? outcome : stateAnswer(services, outcome.state)
  })
}

async function actOnJob(
  services: Services,
  act: 'retry' | 'cancel',
  {
    params,
    user,
    sign,
  }: SignedCall & { readonly params: { readonly deployment_id: string; readonly device_id: string } },
): Promise<Answer | Refusal> {
  const { engine } = services
  const state = await find(services, params.deployment_id, user)
  if (state === undefined) return deploymentNotFound()
  const { id: deploymentId, finishedAt, status } = state.deployment
  const deviceId = parseDeviceId(params.device_id)
  const member = deviceId && (await jobOf(services, state, deviceId))
  if (deviceId === undefined || member === undefined) return deviceNotFound()
  const isOpen = finishedAt === undefined && ['pending', 'in_progress', 'paused'].includes(status)
  if (act === 'retry' && !isOpen)
    return refused('INVALID_STATE_TRANSITION', {
      message: `the deployment is ${status}: a device is tried again while its deployment is open`,
      ...{ from: status, to: 'pending', allowed: [] },
    })
  if (member.kind === 'skipped')
    return refused('INVALID_STATE_TRANSITION', {
      message: `the device was left out as ${member.reason}, so it has no update here`,
      ...{ from: 'skipped', to: act === 'retry' ? 'pending' : 'cancelled', allowed: [] },
    })
  const submitted = await engine.submit(
    deviceId,
    act === 'retry'
      ? { kind: 'ota_retry', deploymentId }
      : { kind: 'ota_cancel', deploymentId, code: 'CANCELLED' },
    sign({ target: deploymentId }),
  )
  if (submitted.kind === 'refused') return submitted
  const after = await jobOf(services, state, deviceId)
  if (after === undefined) return deviceNotFound()
  const body = bodyOf(services, deploymentId, after)
  if (act === 'cancel' && body.status !== 'cancelled')
    return refused('INVALID_STATE_TRANSITION', {
      message: `the update of this device is ${body.status}: it is cancelled only before the device begins to install`,
      ...{ from: body.status, to: 'cancelled', allowed: isOpen ? actionsOn(after) : [] },
    })
  return answer(200, body)
}

function actionsOn(member: MemberJob): readonly string[] {
  return member.kind === 'job' ? jobActions(member.job.status) : []
}

async function jobOf({ engine }: Services, { deployment }: DeploymentState, deviceId: DeviceId) {
  const page = await engine.deployments.members(deployment.id, { offset: 0, limit: FIRST_PAGE, q: deviceId })
  return page?.jobs.find((job) => job.deviceId === deviceId)
}

function bodyOf({ engine }: Services, deploymentId: DeploymentId, member: MemberJob): JobBody {
  const { deviceId } = member
  return memberBody(
    deploymentId,
    member,
    engine.firmware.downloads.unreportedBytes({ deploymentId, deviceId }),
  )
}

async function stateAnswer(
  services: Services,
  state: DeploymentState,
  { status = 200, headers = {} }: { readonly status?: 200 | 201; readonly headers?: Answer['headers'] } = {},
): Promise<Answer> {
  const { id } = state.deployment
  const page = await services.engine.deployments.members(id, { offset: 0, limit: FIRST_PAGE })
  const devices = page?.jobs.map((job) => bodyOf(services, id, job)) ?? []
  const body = deploymentBody(state)
  // A preview has no ETag, although its operation is the same.
  const etag = status === 201 ? {} : { etag: quoted(body.etag) }
  return answer(status, { ...body, devices }, { ...etag, ...headers })
}

async function find({ engine }: Services, text: string, user: Caller): Promise<DeploymentState | undefined> {
  const state = await engine.deployments.get(DeploymentId(text))
  return state !== undefined && isVisible(state.deployment, user) ? state : undefined
}

/** A deployment that reaches beyond the caller's groups looks as if it did not exist. */
function isVisible({ groups }: Deployment, user: Caller): boolean {
  const scope = scopeOf(user)
  return scope === undefined || groups.every((group) => isInScope(group, scope))
}

interface ListQuery {
  readonly status?: string
  readonly kind?: string
  readonly device_type?: string
  readonly firmware_version?: string
  readonly target_type?: string
  readonly group?: string
}

function fits(deployment: Deployment, query: ListQuery, { from, to }: Span): boolean {
  const { firmware, spec, kind, status, groups, createdAt } = deployment
  return (
    (query.status === undefined || query.status.split(',').includes(status)) &&
    (query.kind === undefined || query.kind === kind) &&
    (query.device_type === undefined || query.device_type === firmware.deviceType) &&
    (query.firmware_version === undefined || query.firmware_version === firmware.version) &&
    (query.target_type === undefined || query.target_type === spec.target.type) &&
    (query.group === undefined || groups.some((group) => isInScope(group, [query.group ?? '']))) &&
    (from === undefined || createdAt >= from) &&
    (to === undefined || createdAt < to)
  )
}

const deploymentNotFound = () => refused('NOT_FOUND', { message: 'no such deployment' })
