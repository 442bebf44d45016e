// Work that one node has another one do: the owner of a device's partition, or the leader. Plain data both ways.
import type { BroadcastId, CommandId, DeviceId, Millis, Partition } from '../../../schemas/ids.ts'
import type { Command } from '../../domain/command/record.ts'
import type { DeviceRequest } from '../../domain/device/events.ts'
import type { BroadcastRequest, BroadcastState, RequestOutcome, Signed } from '../../ports/engine.ts'
import type { BroadcastAnswer } from '../broadcasts.ts'
import type { Answer, AnswerOf, Ask, Position } from '../shard/protocol.ts'

export type NodeWork =
  | {
      readonly kind: 'submit'
      readonly deviceId: DeviceId
      readonly request: DeviceRequest
      readonly signed: Signed
    }
  | { readonly kind: 'ask'; readonly ask: Ask; readonly after: readonly Position[] }
  | {
      readonly kind: 'await'
      readonly deviceId: DeviceId
      readonly commandId: CommandId
      readonly after: readonly Position[]
      readonly timeoutMs: number
    }
  | { readonly kind: 'broadcast'; readonly request: BroadcastRequest }
  | {
      readonly kind: 'broadcast_state'
      readonly broadcastId: BroadcastId
      readonly offset: number
      readonly limit: number
    }
  | { readonly kind: 'broadcast_cancel'; readonly broadcastId: BroadcastId; readonly by: string }
  /** Telemetry before the horizon is marked late from now on, and what was received before is stored. */
  | { readonly kind: 'flush'; readonly horizon: Millis; readonly partitions: readonly Partition[] }

/** The outcome of each kind of work. */
export interface NodeOutcomes {
  readonly submit: RequestOutcome
  readonly ask: Answer
  readonly await: Command | undefined
  readonly broadcast: BroadcastAnswer
  readonly broadcast_state: BroadcastState | undefined
  readonly broadcast_cancel: BroadcastState | undefined
  readonly flush: undefined
}

export type OutcomeOf<Work extends NodeWork> = Work extends { readonly ask: infer A extends Ask }
  ? AnswerOf<A>
  : NodeOutcomes[Work['kind']]
