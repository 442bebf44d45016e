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

/** The devices: those that are named, or all that match. */
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
  /** The number of devices that the caller believes to be meant. */
  readonly expectedTotal?: number | undefined
}

/** A deployment and what its jobs are at this moment. */
export interface DeploymentState {
  readonly deployment: Deployment
  readonly held: Readonly<Partial<Record<HeldReason, number>>>
  /** Places now. */
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
  /** It has no job yet, or none any more. */
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

/** Something became of a deployment. Progress is told at most once a second. */
export interface DeploymentEvent {
  readonly kind: 'deployment'
  readonly event: 'deployment.created' | 'deployment.status' | 'deployment.progress'
  readonly at: Millis
  readonly deployment: Deployment
  /** The status before, if it is another one. */
  readonly previous: Deployment['status'] | undefined
}

export interface Deployments {
  /** Tells what became of deployments, on every node. Returns what stops it. */
  listen(listener: (event: DeploymentEvent) => void): () => void
  /** Sent again with the same id, it answers with the deployment as it is. */
  create(request: DeploymentRequest): Promise<DeploymentOutcome>
  /** Only says who would be a member. */
  plan(request: DeploymentRequest): Promise<PlannedMembers>
  /** Newest first. `deviceId`: only those that the device is, or may be, part of. */
  list(deviceId?: DeviceId): Promise<readonly DeploymentState[]>
  get(id: DeploymentId): Promise<DeploymentState | undefined>
  act(id: DeploymentId, action: DeploymentAction, ifRevision?: number): Promise<DeploymentOutcome>
  members(id: DeploymentId, query: MemberQuery): Promise<MemberPage | undefined>
}
