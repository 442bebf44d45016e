// Who should have which partitions. Nodes get equal shares, and nothing moves without need. A node that cannot work has no
// share while another one can. Every node computes this for itself from the same table, with the same result. The table
// resolves conflicts.
import { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { OwnershipState } from '../../ports/ownership.ts'

export interface Share {
  /** Partitions without a live owner. `epoch` is the last owner's, 0 if there never was one. */
  readonly take: readonly { readonly partition: Partition; readonly epoch: number }[]
  readonly give: readonly Partition[]
}

/** The node's share of `count` partitions, numbered from 0. */
export function shareOf(
  nodeId: string,
  { nodes, owners }: OwnershipState,
  count: number = LIMITS.partitions,
): Share {
  const fit = nodes.filter(({ isUnfit }) => isUnfit !== true)
  // If no node can work, moving partitions gains nothing.
  const ids = (fit.length > 0 ? fit : nodes).map(({ id }) => id).sort()
  const held = new Map<string, Partition[]>(nodes.map(({ id }) => [id, []]))
  const free = new Map(Array.from({ length: count }, (_, p) => [Partition(p), 0]))
  for (const { partition, nodeId: owner, epoch } of owners) {
    const partitions = owner === undefined ? undefined : held.get(owner)
    partitions?.push(partition)
    if (partitions === undefined) free.set(partition, epoch)
    else free.delete(partition)
  }
  const wanted = wantedCounts(count, ids, held)
  const give = (held.get(nodeId) ?? []).sort((a, b) => a - b).slice(wanted.get(nodeId) ?? 0)
  const available = [...free]
    .map(([partition, epoch]) => ({ partition, epoch }))
    .sort((a, b) => a.partition - b.partition)
  for (const id of ids) {
    const missing = Math.max(0, (wanted.get(id) ?? 0) - (held.get(id)?.length ?? 0))
    const take = available.splice(0, missing)
    if (id === nodeId) return { take, give }
  }
  return { take: [], give }
}

/** If the shares cannot be equal, the nodes that already have more keep one more than the others. */
function wantedCounts(
  all: number,
  ids: readonly string[],
  held: ReadonlyMap<string, readonly Partition[]>,
): ReadonlyMap<string, number> {
  const count = (id: string) => held.get(id)?.length ?? 0
  const least = Math.floor(all / ids.length)
  const more = all % ids.length
  const byCount = [...ids].sort((a, b) => count(b) - count(a) || (a < b ? -1 : 1))
  return new Map(byCount.map((id, i) => [id, i < more ? least + 1 : least]))
}
