// What the nodes of the service report about themselves.
import type { Millis, Partition } from '../../schemas/ids.ts'
import type { LogSize } from './log.ts'

export interface DependencyHealth {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
}

export interface NodeFigures {
  readonly version: string
  readonly startedAt: Millis
  readonly isLeading: boolean
  readonly dependencies: readonly DependencyHealth[]
  /** The partitions of this node. The lag is how long the oldest unapplied entry has waited; undefined while nobody works
   *  on the partition. */
  readonly partitions: readonly { readonly partition: Partition; readonly lagMs: number | undefined }[]
  readonly messagesPerSec: number
  readonly pointsPerSec: number
  /** 99th percentile of the duration of recent inserts into ClickHouse; undefined if there were none. */
  readonly insertP99Ms: number | undefined
  /** The samples of `/metrics`, without buckets and quantiles. */
  readonly samples: Readonly<Record<string, number>>
}

export interface NodeState {
  readonly address: string
  /** Undefined if the node did not answer. */
  readonly figures: NodeFigures | undefined
}

export interface SystemState {
  readonly nodes: readonly NodeState[]
  /** Undefined if the log did not answer. */
  readonly log: LogSize | undefined
}
