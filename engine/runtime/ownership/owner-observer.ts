// Who owns what, for a node that owns nothing. It is not in the table and only reads it.
import type { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { OwnershipTable } from '../../ports/ownership.ts'
import type { Schedule } from '../../ports/schedule.ts'

interface OwnerSighting {
  readonly epoch: number
  readonly address: string | undefined
}

export class OwnerObserver {
  readonly #table: OwnershipTable
  readonly #failed: (error: unknown) => void
  readonly #lastSeen = new Map<Partition, OwnerSighting>()
  #isRefreshing = false
  #stops: readonly (() => void)[] = []

  constructor(table: OwnershipTable, failed: (error: unknown) => void) {
    this.#table = table
    this.#failed = failed
  }

  start(schedule: Pick<Schedule, 'every'>): void {
    const look = () => void this.#refresh()
    this.#stops = [schedule.every(LIMITS.ownershipRenewMs, look), this.#table.onChange(look)]
    look()
  }

  addressOf(partition: Partition): string | undefined {
    return this.#lastSeen.get(partition)?.address
  }

  close(): void {
    for (const stop of this.#stops) stop()
  }

  async #refresh(): Promise<void> {
    if (this.#isRefreshing) return
    this.#isRefreshing = true
    try {
      const { nodes, owners } = await this.#table.read()
      const addresses = new Map(nodes.map(({ id, address }) => [id, address]))
      for (const { partition, nodeId, epoch } of owners) {
        // A read may return an older state than the one before.
        if (epoch < (this.#lastSeen.get(partition)?.epoch ?? 0)) continue
        const address = nodeId === undefined ? undefined : addresses.get(nodeId)
        this.#lastSeen.set(partition, { epoch, address })
      }
    } catch (error) {
      this.#failed(error)
    } finally {
      this.#isRefreshing = false
    }
  }
}
