// This node as a member of the cluster. What it owns follows from the table of owners, and so does whether it leads.
import type { Partition } from '../../../schemas/ids.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster } from '../../ports/engine.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Claim } from '../../ports/store.ts'
import { OwnerObserver } from '../ownership/owner-observer.ts'
import { Ownership, type ReceiveTimes } from '../ownership/ownership.ts'
import type { Shards } from '../shards.ts'
import { LEADER_PARTITION } from './nodes.ts'

export interface MembershipPorts {
  readonly cluster: Cluster
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'every'>
  readonly shards: Shards
  readonly newId: () => string
  readonly receiveTimes: ReceiveTimes
  /** Called whenever this node becomes or stops being the leader. */
  readonly leadershipChanged: (isLeading: boolean) => void
  /** The table of owners did not answer. */
  readonly failed: (error: unknown) => void
  /** False while this node cannot reach the store or ClickHouse. */
  readonly isHealthy: () => boolean
  readonly fitnessChanged: (isUnfit: boolean) => void
}

export interface Membership {
  start(): void
  addressOf(partition: Partition): string | undefined
  /** False while another node may have taken over partitions of this one. */
  isCertain(): boolean
  /** Whether this node may act for the partition at this moment, under this claim. */
  mayAct(claim: Claim): boolean
  /** Hands all partitions over. */
  close(): Promise<void>
}

/** Membership of a node that takes its share of the partitions. */
export function joinOwners(ports: MembershipPorts): Membership {
  const {
    cluster,
    clock,
    schedule,
    shards,
    newId,
    receiveTimes,
    leadershipChanged,
    failed,
    isHealthy,
    fitnessChanged,
  } = ports
  const { mesh, owners: table } = cluster
  const ownership = new Ownership({
    table,
    clock,
    schedule,
    // An expelled node comes back under another id, at the same address.
    newNode: () => ({ id: newId(), address: mesh.address }),
    host: {
      gained(claims) {
        shards.gained(claims)
        if (claims.some(({ partition }) => partition === LEADER_PARTITION)) leadershipChanged(true)
      },
      lost(partitions) {
        if (partitions.includes(LEADER_PARTITION)) leadershipChanged(false)
        shards.lost(partitions)
      },
      async handOver(partitions) {
        if (partitions.includes(LEADER_PARTITION)) leadershipChanged(false)
        await shards.handOver(partitions)
      },
      failed,
      isHealthy,
      fitnessChanged,
      receiveTimes,
    },
  })
  return {
    start: () => ownership.start(),
    addressOf: (partition) => ownership.addressOf(partition),
    isCertain: () => ownership.isCertain(),
    mayAct: (claim) => ownership.mayAct(claim),
    close: () => ownership.close(),
  }
}

/** Membership of a node that owns nothing. */
export function watchOwners({ cluster, schedule, failed }: MembershipPorts): Membership {
  const observer = new OwnerObserver(cluster.owners, failed)
  return {
    start: () => observer.start(schedule),
    addressOf: (partition) => observer.addressOf(partition),
    isCertain: () => false,
    mayAct: () => false,
    close: async () => observer.close(),
  }
}
