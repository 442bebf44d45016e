// Who owns which partition: a small table that all nodes see, and change by comparing revisions. What follows from it,
// when a node counts as dead and who takes what, is decided by `runtime/ownership/`.
//
// Every method rejects with a retryable `OWNERSHIP_UNAVAILABLE` fault when the table does not answer: whether it did
// what was asked is then not known, and a later `read` shows it.
import type { Millis, Partition } from '../../schemas/ids.ts'

/** One life of a process. */
export interface OwnershipNode {
  readonly id: string
  /** Address under which other nodes find it. */
  readonly address: string
  /** It cannot do what its partitions need, and gives them to nodes that can. */
  readonly isUnfit?: boolean
  /** Receive time as of its renewal: what it took before has no later one. */
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
  /** Partitions that were ever owned. */
  readonly owners: readonly OwnerEntry[]
}

export interface OwnershipTable {
  read(): Promise<OwnershipState>
  /** Enters the node with revision 0, else renews it, with its latest revision as far as it knows. Resolves with its
   *  revision now; undefined if it was expelled. */
  renew(node: OwnershipNode, revision: number): Promise<number | undefined>
  /** Takes a node out, unless it was renewed since this revision. What it owned is still entered as its own. */
  expel(node: NodeEntry): Promise<boolean>
  /** Enters an owner, if the entry still has this epoch, 0 being none. Resolves with the epoch that follows; undefined if
   *  somebody else was faster. */
  claim(partition: Partition, nodeId: string, epoch: number): Promise<number | undefined>
  /** Gives a partition up, if its entry still has this epoch. */
  release(partition: Partition, epoch: number): Promise<void>
  /** Other nodes called: reading now is worth it. Returns what stops that. */
  onCall(run: () => void): () => void
  /** Tells the other nodes that something changed. Nothing depends on their hearing it. */
  call(): void
}
