// Which node owns which partition: a small table that all nodes see and change by compare-and-set on revisions. When a
// node counts as dead and who takes its partitions is decided in `runtime/ownership/`.
//
// Every method rejects with a retryable `OWNERSHIP_UNAVAILABLE` fault if the table does not answer. It is then unknown
// whether the change was made; a later `read` shows it.
import type { Millis, Partition } from '../../schemas/ids.ts'

/** One life of a process. */
export interface OwnershipNode {
  readonly id: string
  /** Address under which other nodes find it. */
  readonly address: string
  /** The node cannot save or insert, so it gives its partitions to nodes that can. */
  readonly isUnfit?: boolean
  /** The node's receive time at its renewal. Every message it accepted before has an earlier or equal time. */
  readonly at?: Millis
}

export interface NodeEntry extends OwnershipNode {
  /** Changes whenever the node is renewed. */
  readonly revision: number
}

export interface OwnerEntry {
  readonly partition: Partition
  /** Undefined if the last owner released it. */
  readonly nodeId: string | undefined
  /** Grows with every change of owner. */
  readonly epoch: number
}

export interface OwnershipState {
  readonly nodes: readonly NodeEntry[]
  /** One entry for each partition that was ever owned. */
  readonly owners: readonly OwnerEntry[]
}

export interface OwnershipTable {
  read(): Promise<OwnershipState>
  /** Enters the node if the revision is 0, and otherwise renews it. The caller passes the latest revision it knows; it may
   *  have missed the answer to a later renewal. Resolves with the new revision, or undefined if the node was expelled. */
  renew(node: OwnershipNode, revision: number): Promise<number | undefined>
  /** Removes a node unless it was renewed after this revision. Its partitions stay entered as its own. */
  expel(node: NodeEntry): Promise<boolean>
  /** Enters an owner if the entry still has this epoch; 0 means that there is no entry. Resolves with the new epoch, or
   *  undefined if another node was faster. */
  claim(partition: Partition, nodeId: string, epoch: number): Promise<number | undefined>
  /** Releases a partition if its entry still has this epoch. */
  release(partition: Partition, epoch: number): Promise<void>
  /** Runs when another node has announced a change, so that reading now is worthwhile. Returns a function that stops
   *  it. */
  onChange(listener: () => void): () => void
  /** Announces to the other nodes that something changed. Correctness does not depend on its arrival. */
  announceChange(): void
}
