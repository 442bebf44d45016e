// For tests and simulations: a table of owners that several nodes of one process share.
import type { Partition } from '../../../../schemas/ids.ts'
import type {
  NodeEntry,
  OwnerEntry,
  OwnershipNode,
  OwnershipState,
  OwnershipTable,
} from '../../../ports/ownership.ts'

export class MemoryOwners {
  readonly nodes = new Map<string, NodeEntry>()
  readonly owners = new Map<Partition, OwnerEntry>()
  readonly listeners = new Set<() => void>()
  #revision = 0

  next(): number {
    return ++this.#revision
  }
}

export class MemoryOwnership implements OwnershipTable {
  readonly #shared: MemoryOwners

  constructor(shared: MemoryOwners) {
    this.#shared = shared
  }

  async read(): Promise<OwnershipState> {
    return { nodes: [...this.#shared.nodes.values()], owners: [...this.#shared.owners.values()] }
  }

  async renew(node: OwnershipNode, revision: number): Promise<number | undefined> {
    const { nodes } = this.#shared
    if (revision > 0 && !nodes.has(node.id)) return undefined
    const next = this.#shared.next()
    nodes.set(node.id, { ...node, revision: next })
    return next
  }

  async expel({ id, revision }: NodeEntry): Promise<boolean> {
    return this.#shared.nodes.get(id)?.revision === revision && this.#shared.nodes.delete(id)
  }

  async claim(partition: Partition, nodeId: string, epoch: number): Promise<number | undefined> {
    return this.#enter(partition, nodeId, epoch)
  }

  async release(partition: Partition, epoch: number): Promise<void> {
    this.#enter(partition, undefined, epoch)
  }

  onChange(run: () => void): () => void {
    this.#shared.listeners.add(run)
    return () => this.#shared.listeners.delete(run)
  }

  announceChange(): void {
    for (const run of this.#shared.listeners) run()
  }

  #enter(partition: Partition, nodeId: string | undefined, epoch: number): number | undefined {
    const { owners } = this.#shared
    if ((owners.get(partition)?.epoch ?? 0) !== epoch) return undefined
    const next = this.#shared.next()
    owners.set(partition, { partition, nodeId, epoch: next })
    return next
  }
}
