// What the page and its worker say to each other.
import type { FleetIndex } from '../../../../schemas/fleet.ts'
import type {
  ChannelName,
  FleetDelta,
  FleetStats,
  SocketFilter,
  SocketProblem,
} from '../../../../schemas/ws.ts'

export interface Watch {
  readonly channel: ChannelName
  readonly filter?: SocketFilter
  readonly throttle_ms?: number
  readonly snapshot?: boolean
  /** Metrics whose latest values come along, only on the channel `fleet`. */
  readonly values?: readonly string[]
}

export interface FleetSource {
  /** The address of the index. */
  readonly url: string
  /** How often changes are sent at most. */
  readonly paceMs: number
  /** The index is read without names first, which are most of its bytes. */
  readonly isThrifty: boolean
}

export type ToWorker =
  | { readonly kind: 'open'; readonly url: string }
  | { readonly kind: 'token'; readonly token: string }
  | ({ readonly kind: 'follow-fleet' } & FleetSource)
  | { readonly kind: 'watch'; readonly id: string; readonly watch: Watch }
  | { readonly kind: 'unwatch'; readonly id: string }
  | { readonly kind: 'hidden'; readonly isHidden: boolean }
  /** The page has taken in the last batch. */
  | { readonly kind: 'taken' }
  | { readonly kind: 'retry' }

/** An event of a subscription. A snapshot comes as events, too. */
export interface LiveEvent {
  readonly event: string
  readonly device_id?: string
  readonly ts: string
  readonly data: unknown
  readonly isSnapshot?: true
}

export type FromWorker =
  | { readonly kind: 'live' }
  /** `retryInMs` is how long it waits before the next try. */
  | { readonly kind: 'away'; readonly retryInMs: number }
  /** The connection seems to stand, and nothing has come for so long. */
  | { readonly kind: 'silent'; readonly forMs: number }
  | { readonly kind: 'token-wanted'; readonly isRefused: boolean }
  | { readonly kind: 'closed'; readonly reason: 'forbidden' | 'too-many' }
  | { readonly kind: 'batch'; readonly batches: readonly Batch[]; readonly newestTs: string | undefined }
  | { readonly kind: 'fleet-index'; readonly index: FleetIndex }
  /** The names that the index was read without. */
  | { readonly kind: 'fleet-names'; readonly index: FleetIndex }
  | {
      readonly kind: 'fleet-deltas'
      readonly deltas: readonly FleetDelta[]
      readonly stats: FleetStats | undefined
    }
  | { readonly kind: 'fleet-failed'; readonly status: number }
  | { readonly kind: 'refused'; readonly id: string; readonly problem: SocketProblem }

export interface Batch {
  readonly id: string
  readonly events: readonly LiveEvent[]
  /** How many were left out before these. */
  readonly dropped: number
  /** The subscription was away for a time and got no snapshot: something may have been missed, nobody knows how much. */
  readonly hasGap: boolean
}
