// Deployments as the API sees them.
import type { DeploymentId, DeviceId, FirmwareId, Millis } from '../../schemas/ids.ts'
import type { HeldReason } from '../../schemas/vocabulary.ts'
import type {
  Deployment,
  DeploymentSpec,
  Members as FrozenMembers,
  OtaSkipReason,
} from '../domain/ota/deployment.ts'
import type { Job } from '../domain/ota/job.ts'
import type { EngineRefusal } from './engine-refusal.ts'
import type { DeviceFilter } from './store.ts'

/** The chosen devices: those that are listed, or all that match a filter. */
export type Members =
  | { readonly kind: 'named'; readonly deviceIds: readonly DeviceId[] }
  | { readonly kind: 'matching'; readonly filter: DeviceFilter }

export interface DeploymentRequest {
  readonly id: DeploymentId
  readonly kind: 'install' | 'rollback'
  readonly spec: DeploymentSpec
  readonly firmwareId: FirmwareId
  readonly members: Members
  readonly by: string
  /** Whether `force` may offer a device a firmware that failed on it. */
  readonly mayPassBlocks: boolean
  /** How many devices the caller expects to be selected. */
  readonly expectedTotal?: number | undefined
}

/** A deployment and what its jobs are at this moment. */
export interface DeploymentState {
  readonly deployment: Deployment
  readonly held: Readonly<Partial<Record<HeldReason, number>>>
  /** How many jobs may run at this moment. */
  readonly window: number
}

export type DeploymentOutcome = { readonly kind: 'done'; readonly state: DeploymentState } | EngineRefusal

/** A member's part, as a list shows it. */
export type MemberJob =
  | {
      readonly kind: 'job'
      readonly deviceId: DeviceId
      readonly job: Job
      readonly held: HeldReason | undefined
    }
  | { readonly kind: 'skipped'; readonly deviceId: DeviceId; readonly reason: OtaSkipReason }
  /** The device has no job yet, or no longer has one. */
  | { readonly kind: 'none'; readonly deviceId: DeviceId; readonly held: HeldReason | undefined }

export interface MemberPage {
  readonly jobs: readonly MemberJob[]
  readonly total: number
}

export interface MemberQuery {
  readonly offset: number
  readonly limit: number
  readonly status?: string | undefined
  readonly held?: string | undefined
  /** A group with its subtree. */
  readonly group?: string | undefined
  /** A prefix of the device's id. */
  readonly q?: string | undefined
}

export type DeploymentAction = 'pause' | 'resume' | 'cancel' | 'approve'

/** The members that a deployment would have, stage by stage, and the devices that it would leave out. */
export type PlannedMembers = { readonly kind: 'planned'; readonly members: FrozenMembers } | EngineRefusal

/** A deployment changed. Progress is reported at most once a second. */
export interface DeploymentEvent {
  readonly kind: 'deployment'
  readonly event: 'deployment.created' | 'deployment.status' | 'deployment.progress'
  readonly at: Millis
  readonly deployment: Deployment
  /** The previous status, if it changed. */
  readonly previous: Deployment['status'] | undefined
}

export interface Deployments {
  /** Calls the listener for every change of a deployment, on every node. Returns a function that stops it. */
  listen(listener: (event: DeploymentEvent) => void): () => void
  /** Repeating the call with the same id returns the existing deployment. */
  create(request: DeploymentRequest): Promise<DeploymentOutcome>
  /** Selects the members without creating anything. */
  plan(request: DeploymentRequest): Promise<PlannedMembers>
  /** Newest first. With `deviceId`, only deployments that include or may include this device. */
  list(deviceId?: DeviceId): Promise<readonly DeploymentState[]>
  get(id: DeploymentId): Promise<DeploymentState | undefined>
  act(id: DeploymentId, action: DeploymentAction, ifRevision?: number): Promise<DeploymentOutcome>
  members(id: DeploymentId, query: MemberQuery): Promise<MemberPage | undefined>
}
