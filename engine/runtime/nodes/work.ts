// Work that one node has another node do: the owner of a device's partition, or the leader. Plain data both ways.
import type {
  AlertId,
  BroadcastId,
  CommandId,
  DeploymentId,
  DeviceId,
  FirmwareId,
  Millis,
  Partition,
} from '../../../schemas/ids.ts'
import type { AlertAct } from '../../domain/alert/acts.ts'
import type { Command } from '../../domain/command/record.ts'
import type { DeviceRequest } from '../../domain/device/events.ts'
import type { Author } from '../../domain/shadow/record.ts'
import type { ChannelAnswer, ChannelCall } from '../../ports/alert-channels.ts'
import type {
  AlertChange,
  AlertChangeOutcome,
  AlertCounts,
  AlertMatches,
  AlertsQuery,
  FleetActOutcome,
} from '../../ports/alerts.ts'
import type {
  DeploymentAction,
  DeploymentOutcome,
  DeploymentRequest,
  DeploymentState,
  MemberPage,
  MemberQuery,
  PlannedMembers,
} from '../../ports/deployments.ts'
import type {
  Authorship,
  BroadcastList,
  BroadcastPage,
  BroadcastRequest,
  BroadcastState,
  BroadcastsQuery,
  PurgeOutcome,
  RequestOutcome,
} from '../../ports/engine.ts'
import type {
  AddedFirmware,
  FirmwareEditing,
  FirmwareOutcome,
  FirmwareRemoval,
  NewFirmware,
} from '../../ports/ota.ts'
import type { NodeFigures } from '../../ports/system.ts'
import type { BroadcastAnswer } from '../broadcasts/broadcasts.ts'
import type { Purge } from '../purges/purge-desk.ts'
import type { Answer, AnswerOf, Ask, Position } from '../shard/protocol.ts'

export type NodeWork =
  | {
      readonly kind: 'submit'
      readonly deviceId: DeviceId
      readonly request: DeviceRequest
      readonly signed: Authorship
    }
  | {
      readonly kind: 'ask'
      readonly ask: Ask
      readonly after: readonly Position[]
      /** The partitions the question is about. The asking node believes that this node owns all of them. */
      readonly partitions: readonly Partition[]
    }
  | {
      readonly kind: 'await'
      readonly deviceId: DeviceId
      readonly commandId: CommandId
      readonly after: readonly Position[]
      readonly timeoutMs: number
    }
  | { readonly kind: 'broadcast'; readonly request: BroadcastRequest }
  | ({ readonly kind: 'broadcast_state'; readonly broadcastId: BroadcastId } & BroadcastPage)
  | { readonly kind: 'broadcast_list'; readonly query: BroadcastsQuery }
  | { readonly kind: 'broadcast_cancel'; readonly broadcastId: BroadcastId; readonly by: string }
  | { readonly kind: 'firmware_add'; readonly firmware: NewFirmware }
  | { readonly kind: 'firmware_edit'; readonly editing: FirmwareEditing }
  | { readonly kind: 'deployment_create'; readonly request: DeploymentRequest }
  | { readonly kind: 'deployment_plan'; readonly request: DeploymentRequest }
  | { readonly kind: 'deployment_list'; readonly deviceId?: DeviceId | undefined }
  | { readonly kind: 'deployment_get'; readonly id: DeploymentId }
  | {
      readonly kind: 'deployment_act'
      readonly id: DeploymentId
      readonly action: DeploymentAction
      readonly ifRevision?: number | undefined
    }
  | { readonly kind: 'deployment_members'; readonly id: DeploymentId; readonly query: MemberQuery }
  | ({ readonly kind: 'purge' } & Purge)
  | { readonly kind: 'image_missing'; readonly firmwareId: FirmwareId }
  | { readonly kind: 'firmware_remove'; readonly removal: FirmwareRemoval }
  | { readonly kind: 'channels'; readonly call: ChannelCall }
  | { readonly kind: 'alert_change'; readonly change: AlertChange }
  /** Asks for alerts about the fleet, which the leader keeps. */
  | { readonly kind: 'fleet_alerts'; readonly query: AlertsQuery }
  | { readonly kind: 'fleet_alert_counts'; readonly within: readonly string[] | undefined }
  | { readonly kind: 'fleet_alert_act'; readonly id: AlertId; readonly act: AlertAct; readonly by: Author }
  /** Asks for the node's figures. */
  | { readonly kind: 'figures' }
  /** Marks telemetry before the horizon late from now on. Done once everything received before is stored. */
  | { readonly kind: 'flush'; readonly horizon: Millis; readonly partitions: readonly Partition[] }

/** The outcome of each kind of work. */
export interface NodeOutcomes {
  readonly submit: RequestOutcome
  readonly ask: Answer
  readonly await: Command | undefined
  readonly broadcast: BroadcastAnswer
  readonly broadcast_state: BroadcastState | undefined
  readonly broadcast_list: BroadcastList
  readonly broadcast_cancel: BroadcastState | undefined
  readonly firmware_add: AddedFirmware
  readonly firmware_edit: FirmwareOutcome
  readonly deployment_create: DeploymentOutcome
  readonly deployment_plan: PlannedMembers
  readonly deployment_list: readonly DeploymentState[]
  readonly deployment_get: DeploymentState | undefined
  readonly deployment_act: DeploymentOutcome
  readonly deployment_members: MemberPage | undefined
  readonly purge: PurgeOutcome
  readonly image_missing: undefined
  readonly firmware_remove: FirmwareOutcome
  readonly channels: ChannelAnswer
  readonly alert_change: AlertChangeOutcome
  readonly fleet_alerts: AlertMatches
  readonly fleet_alert_counts: AlertCounts
  readonly fleet_alert_act: FleetActOutcome
  readonly figures: NodeFigures
  readonly flush: undefined
}

export type OutcomeOf<Work extends NodeWork> = Work extends { readonly ask: infer A extends Ask }
  ? AnswerOf<A>
  : NodeOutcomes[Work['kind']]
