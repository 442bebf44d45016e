// The leader's desk for deployments: it creates them, acts on them, and shows how far each device is.

import { type DeploymentId, type DeviceId, type FirmwareId, Millis } from '../../../schemas/ids.ts'
import { refused } from '../../../schemas/refusals.ts'
import { isSameVersion } from '../../../schemas/same-version.ts'
import { isWithin } from '../../domain/alert/target.ts'
import { chunks } from '../../domain/chunks.ts'
import {
  type Deployment,
  deadlineOf,
  isFinalStatus,
  type Members,
  type OtaSkipReason,
  type Stage,
} from '../../domain/ota/deployment.ts'
import { toNextStage, withStatus } from '../../domain/ota/deployment-progress.ts'
import { LIMITS } from '../../limits.ts'
import type {
  DeploymentAction,
  DeploymentOutcome,
  DeploymentRequest,
  DeploymentState,
  MemberJob,
  MemberPage,
  MemberQuery,
  PlannedMembers,
} from '../../ports/deployments.ts'
import type { FirmwareRecord } from '../../ports/ota.ts'
import { DeploymentAdmission } from './deployment-admission.ts'
import { type ListedMembers, listedMembers } from './listed-members.ts'
import { windowOf } from './live-deployment.ts'
import { fits, toMemberJob } from './member-jobs.ts'
import { Orchestrator, type OrchestratorPorts } from './orchestrator.ts'
import { Pace } from './pace.ts'

export class DeploymentDesk {
  readonly #ports: OrchestratorPorts
  readonly #orchestrator: Orchestrator
  readonly #admission: DeploymentAdmission

  constructor(ports: OrchestratorPorts) {
    this.#ports = ports
    this.#orchestrator = new Orchestrator(ports)
    this.#admission = new DeploymentAdmission(ports, () => this.#orchestrator.openCount())
  }

  open(): Promise<void> {
    return this.#orchestrator.open()
  }

  close(): void {
    this.#orchestrator.close()
  }

  async list(deviceId?: DeviceId): Promise<readonly DeploymentState[]> {
    const all = this.#orchestrator.all()
    if (deviceId === undefined) return all
    const [state] = await this.#ports.firmwareOf([deviceId])
    const own = new Set(state?.firmware.jobs.map(({ plan }) => plan.deploymentId))
    // Members without a job, because it is not there yet or they were skipped, are only known to a running deployment.
    return all.filter(
      ({ deployment: { id, spec } }) =>
        own.has(id) ||
        [spec.target.value].flat().includes(deviceId) ||
        this.#orchestrator.isMember(id, deviceId),
    )
  }

  /** All deployments as the last round left them. */
  all(): readonly DeploymentState[] {
    return this.#orchestrator.all()
  }

  /** The devices that have or had a job of the deployment. */
  async deviceIdsOf(id: DeploymentId): Promise<readonly DeviceId[]> {
    return (await this.#orchestrator.membersOf(id))?.stages.flat() ?? []
  }

  get(id: DeploymentId): DeploymentState | undefined {
    return this.#orchestrator.state(id)
  }

  create(request: DeploymentRequest): Promise<DeploymentOutcome> {
    return this.#orchestrator.inTurn(() => this.#create(request))
  }

  /** Only tells who would be a member. */
  plan(request: DeploymentRequest): Promise<PlannedMembers> {
    return this.#orchestrator.inTurn(() => this.#plan(request))
  }

  act(id: DeploymentId, action: DeploymentAction, ifRevision?: number): Promise<DeploymentOutcome> {
    return this.#orchestrator.inTurn(() => this.#act(id, action, ifRevision))
  }

  /** Aborts those of the deployments that are not final. */
  abortAll(isMeant: (deployment: Deployment) => boolean, reason: string): Promise<void> {
    return this.#orchestrator.inTurn(async () => {
      for (const { deployment } of this.#orchestrator.all())
        if (isMeant(deployment) && !isFinalStatus(deployment.status))
          await this.#orchestrator.abort(deployment.id, reason)
    })
  }

  /** How many devices would go back to this firmware in a rollback. */
  async wayBackOf(id: FirmwareId): Promise<number> {
    const record = this.#ports.firmwares.get(id)
    if (record === undefined) return 0
    const ids = this.#ports.store.devices.matching({ type: record.deviceType })
    let devices = 0
    for (const some of chunks(ids, LIMITS.otaStatesAtOnce))
      for (const state of await this.#ports.firmwareOf(some))
        if (state !== undefined && isSameVersion(record.reportsAs, state.firmware.previousVersion)) devices++
    return devices
  }

  /** Pauses deployments whose image cannot be read, until somebody resumes them. */
  imageMissing(isMeant: (deployment: Deployment) => boolean): Promise<void> {
    return this.#orchestrator.inTurn(async () => {
      for (const { deployment } of this.#orchestrator.all()) {
        const { status } = deployment
        if (!isMeant(deployment) || (status !== 'pending' && status !== 'in_progress')) continue
        const now = this.#ports.clock.now()
        await this.#orchestrator.change(withStatus(deployment, 'paused', now, 'firmware_unavailable'))
      }
    })
  }

  async members(id: DeploymentId, query: MemberQuery): Promise<MemberPage | undefined> {
    const state = this.#orchestrator.state(id)
    const members = state && (await this.#orchestrator.membersOf(id))
    if (state === undefined || members === undefined) return undefined
    const { q = '', group, offset, limit } = query
    const { ids, skipped, stageOf } = listedMembers(members)
    const isAsked = (each: DeviceId) =>
      each.startsWith(q) &&
      (group === undefined || isWithin(this.#ports.store.devices.summary(each)?.group, group))
    const all = q === '' && group === undefined ? ids : ids.filter(isAsked)
    const show = (ids: readonly DeviceId[]) => this.#show(ids, { state, skipped, stageOf })
    if (query.status === undefined && query.held === undefined)
      return { jobs: await show(all.slice(offset, offset + limit)), total: all.length }
    const jobs = (await show(all)).filter((each) => fits(each, query))
    return { jobs: jobs.slice(offset, offset + limit), total: jobs.length }
  }

  async #plan(request: DeploymentRequest): Promise<PlannedMembers> {
    const admitted = await this.#admission.admit(request)
    return admitted.kind === 'refused' ? admitted : { kind: 'planned', members: admitted.members }
  }

  async #create(request: DeploymentRequest): Promise<DeploymentOutcome> {
    const { id, spec, kind, by, expectedTotal } = request
    const known = this.#orchestrator.state(id)
    if (known !== undefined) return { kind: 'done', state: known }
    const admitted = await this.#admission.admit(request)
    if (admitted.kind === 'refused') return admitted
    const { record, aspirants, members, now } = admitted
    if (expectedTotal !== undefined && expectedTotal !== aspirants.length)
      return refused('TARGET_CHANGED', { expected: expectedTotal, got: aspirants.length })
    const skipped = countSkipped(members)
    if (members.stages.every((ids) => ids.length === 0))
      return refused('EMPTY_TARGET', {
        message: emptyText(aspirants.length, skipped),
        total: aspirants.length,
        skipped,
      })
    const deployment: Deployment = {
      ...{ id, kind, spec, skipped },
      firmware: toDeployed(record),
      status: (spec.startAt ?? 0) > now ? 'scheduled' : 'pending',
      statusReason: undefined,
      total: aspirants.length,
      groups: [
        ...new Set(aspirants.map(({ state }) => this.#ports.store.devices.summary(state.deviceId)?.group)),
      ],
      stages: members.stages.map(
        (ids, i): Stage => ({
          total: ids.length,
          succeeded: 0,
          failed: 0,
          state: i === 0 ? 'running' : 'waiting',
          since: now,
          startedAt: now,
        }),
      ),
      stage: 0,
      evidence: {},
      createdBy: by,
      createdAt: now,
      startedAt: undefined,
      pausedAt: undefined,
      abortedAt: undefined,
      finishedAt: undefined,
      deadlineAt: Millis(deadlineOf(spec, now)),
      counts: {},
      revision: 1,
    }
    const state = { deployment, held: {}, window: windowOf({ deployment, pace: new Pace(spec) }) }
    await this.#orchestrator.begin(deployment, members)
    // The deployment is there. What fails here is done in the next round.
    await this.#orchestrator.supersede(id).catch(this.#ports.failed)
    return { kind: 'done', state }
  }

  async #act(
    id: DeploymentId,
    action: DeploymentAction,
    ifRevision: number | undefined,
  ): Promise<DeploymentOutcome> {
    const state = this.#orchestrator.state(id)
    if (state === undefined) return refused('NOT_FOUND', { message: 'no such deployment' })
    const { deployment } = state
    if (ifRevision !== undefined && ifRevision !== deployment.revision)
      return refused('PRECONDITION_FAILED', {
        expected: String(deployment.revision),
        got: String(ifRevision),
      })
    const allowed = allowedActions(deployment)
    if (!allowed.includes(action))
      return refused('INVALID_STATE_TRANSITION', {
        ...{ message: refusedText(deployment.status, allowed), from: deployment.status },
        ...{ to: TO[action], allowed },
      })
    const now = this.#ports.clock.now()
    await this.#orchestrator.change(acted(deployment, action, now))
    return { kind: 'done', state: this.#orchestrator.state(id) ?? state }
  }

  async #show(
    ids: readonly DeviceId[],
    { state, skipped, stageOf }: Omit<ListedMembers, 'ids'> & { readonly state: DeploymentState },
  ): Promise<readonly MemberJob[]> {
    const { deployment } = state
    const now = this.#ports.clock.now()
    const shown: MemberJob[] = []
    for (const some of chunks(ids, LIMITS.otaStatesAtOnce)) {
      const states = await this.#ports.firmwareOf(some)
      for (const [i, deviceId] of some.entries()) {
        const reason = skipped.get(deviceId)
        if (reason !== undefined) shown.push({ kind: 'skipped', deviceId, reason })
        else
          shown.push(
            toMemberJob(deviceId, states[i], {
              deployment,
              stage: stageOf.get(deviceId) ?? 0,
              isFamilyBusy: this.#orchestrator.isFamilyBusy(deployment.id, deviceId),
              now,
            }),
          )
      }
    }
    return shown
  }
}

const TO: Readonly<Record<DeploymentAction, string>> = {
  pause: 'paused',
  resume: 'in_progress',
  approve: 'in_progress',
  cancel: 'cancelled',
}

function allowedActions({ status }: Deployment): readonly DeploymentAction[] {
  if (isFinalStatus(status)) return []
  if (status === 'paused') return ['resume', 'cancel', 'approve']
  return status === 'pending' || status === 'in_progress' ? ['pause', 'cancel'] : ['cancel']
}

function acted(deployment: Deployment, action: DeploymentAction, now: Millis): Deployment {
  const { status, statusReason, startedAt } = deployment
  if (action === 'cancel') return withStatus(deployment, 'cancelled', now, 'user')
  if (action === 'pause') return withStatus(deployment, 'paused', now, 'user')
  const goesOn = status === 'paused' && (statusReason === 'approval' || statusReason === 'gate_failed')
  const stages = deployment.stages.map((stage, i) =>
    // Somebody has just looked at it, so it does not count as stalled for another day.
    i === deployment.stage && stage.state === 'running' ? { ...stage, since: now } : stage,
  )
  const on = goesOn ? toNextStage(deployment, now) : { ...deployment, stages }
  return withStatus(on, startedAt === undefined ? 'pending' : 'in_progress', now)
}

function countSkipped({ skipped }: Members): Deployment['skipped'] {
  const counts: Partial<Record<OtaSkipReason, number>> = {}
  for (const { reason } of skipped) counts[reason] = (counts[reason] ?? 0) + 1
  return counts
}

function toDeployed(record: FirmwareRecord): Deployment['firmware'] {
  const { id, version, deviceType, reportsAs, sha256, sizeBytes, filename } = record
  return { id, version, deviceType, reportsAs, sha256, sizeBytes, filename }
}

function emptyText(total: number, skipped: Deployment['skipped']): string {
  if (total === 0) return 'the target has no device'
  const reasons = Object.entries(skipped).map(([reason, devices]) => `${devices} ${reason}`)
  return `no device of the target takes this firmware: ${reasons.join(', ')}`
}

function refusedText(status: string, allowed: readonly DeploymentAction[]): string {
  return allowed.length === 0
    ? `the deployment is ${status}, which is final: make a new one`
    : `the deployment is ${status}, and takes ${allowed.join(' or ')} now`
}
