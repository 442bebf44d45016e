// Which devices a deployment would reach, and which deployments must not begin at all.

import { type DeviceId, Millis } from '../../../schemas/ids.ts'
import { refused } from '../../../schemas/refusals.ts'
import { chunks } from '../../domain/chunks.ts'
import {
  type AdmissionCandidate,
  blockedDevices,
  missingCanaries,
  toMembers,
} from '../../domain/ota/admission.ts'
import { deadlineOf, type Members } from '../../domain/ota/deployment.ts'
import { hasWindow } from '../../domain/ota/start-window.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { DeploymentRequest } from '../../ports/deployments.ts'
import type { EngineRefusal } from '../../ports/engine-refusal.ts'
import type { FirmwareRecord, Firmwares } from '../../ports/ota.ts'
import type { Directory } from '../../ports/store.ts'
import type { OrchestratorPorts } from './orchestrator.ts'

export interface Admission {
  readonly kind: 'admitted'
  readonly record: FirmwareRecord
  readonly aspirants: readonly AdmissionCandidate[]
  readonly members: Members
  readonly now: Millis
}

interface AdmissionPorts extends Pick<OrchestratorPorts, 'firmwareOf'> {
  readonly store: { readonly devices: Pick<Directory, 'summary' | 'matching'> }
  readonly firmwares: Pick<Firmwares, 'get'>
  readonly clock: Pick<Clock, 'now'>
}

export class DeploymentAdmission {
  readonly #ports: AdmissionPorts
  readonly #openCount: () => number
  readonly #membersMax: number

  constructor(
    ports: AdmissionPorts,
    openCount: () => number,
    membersMax: number = LIMITS.deploymentMembersMax,
  ) {
    this.#ports = ports
    this.#openCount = openCount
    this.#membersMax = membersMax
  }

  /** Decides whether the deployment may begin, and finds out who would get a job. */
  async admit(request: DeploymentRequest): Promise<EngineRefusal | Admission> {
    const { id, spec, kind, firmwareId } = request
    const record = this.#ports.firmwares.get(firmwareId)
    const now = this.#ports.clock.now()
    const refusal = this.#refuse(request, record, now)
    if (record === undefined || refusal !== undefined) return refusal ?? noFirmware()
    const ids = this.#targeted(request)
    if (ids.length > this.#membersMax) {
      const message = `the target has ${ids.length} devices, and a deployment takes ${this.#membersMax}: deploy by group`
      return refused('LIMIT_REACHED', { limit: this.#membersMax, message })
    }
    const aspirants = await this.#aspirants(ids)
    // The firmware may have been yanked or removed meanwhile.
    const current = this.#ports.firmwares.get(firmwareId)
    const changed = current === undefined ? noFirmware() : this.#refuse(request, current, now)
    if (changed !== undefined) return changed
    const blocked = spec.force && !request.mayPassBlocks ? blockedDevices(aspirants, record, now) : []
    if (blocked.length > 0) {
      const message = `this firmware failed on ${named(blocked)}, and only an admin may send it there again`
      return refused('FORBIDDEN', { message })
    }
    const members = toMembers(aspirants, record, { id, spec, isRollback: kind === 'rollback', now })
    const missing = missingCanaries(spec, members)
    if (missing.length > 0)
      return invalid('/canary/devices', `${named(missing)} would not get this firmware and can be no canary`)
    return { kind: 'admitted', record, aspirants, members, now }
  }

  #refuse(
    { spec, kind }: DeploymentRequest,
    record: FirmwareRecord | undefined,
    now: Millis,
  ): EngineRefusal | undefined {
    if (record?.status === 'yanked')
      return refused('FIRMWARE_YANKED', { message: 'this firmware is never sent again' })
    if (record?.status === 'deprecated' && !spec.force && kind === 'install')
      return refused('FIRMWARE_DEPRECATED', { message: 'this firmware is deployed with `force` only' })
    if (this.#openCount() >= LIMITS.deploymentsOpenMax)
      return refused('LIMIT_REACHED', {
        limit: LIMITS.deploymentsOpenMax,
        message: 'too many deployments are open; wait until one ends, or cancel one',
      })
    const from = Millis(Math.max(now, spec.startAt ?? 0))
    if (spec.windows.length === 0 || hasWindow(spec.windows, from, Millis(deadlineOf(spec, now))))
      return undefined
    return invalid('/windows', 'no window opens before the deadline')
  }

  #targeted({ members }: DeploymentRequest): readonly DeviceId[] {
    return members.kind === 'named'
      ? [...new Set(members.deviceIds)]
      : this.#ports.store.devices.matching(members.filter)
  }

  async #aspirants(ids: readonly DeviceId[]): Promise<readonly AdmissionCandidate[]> {
    const aspirants: AdmissionCandidate[] = []
    for (const some of chunks(ids, LIMITS.otaStatesAtOnce))
      for (const state of await this.#ports.firmwareOf(some)) {
        const type = state && this.#ports.store.devices.summary(state.deviceId)?.type
        if (state !== undefined && type !== undefined) aspirants.push({ state, type })
      }
    return aspirants
  }
}

function noFirmware(): EngineRefusal {
  return refused('NOT_FOUND', { message: 'no such firmware' })
}

function invalid(path: string, message: string): EngineRefusal {
  return refused('VALIDATION_FAILED', { message, errors: [{ path, code: 'OUT_OF_RANGE', message }] })
}

/** Some of the ids, as a text. */
function named(ids: readonly DeviceId[]): string {
  return ids.length > 5 ? `${ids.slice(0, 5).join(', ')} and others` : ids.join(', ')
}
