// The lanes of a broker outside. The nodes that listen to devices share them as engines share partitions. One node at a
// time reads a lane. Even if two nodes believe that they own it, the broker admits one client under the lane's name.
import { LIMITS } from '../../limits.ts'
import type { LaneReader } from '../../ports/broker.ts'
import type { Clock } from '../../ports/clock.ts'
import type { OwnershipTable } from '../../ports/ownership.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { Ownership, type ReceiveTimes } from '../ownership/ownership.ts'

export interface LanesPorts {
  readonly owners: OwnershipTable
  readonly reader: LaneReader
  /** This node's address. */
  readonly address: string
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'every'>
  readonly newId: () => string
  readonly receiveTimes: ReceiveTimes
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void
}

export type Lanes = Pick<Ownership, 'start' | 'isCertain' | 'close'>

/** `close` resolves once everything read is acknowledged and others may go on reading. */
export function shareLanes(ports: LanesPorts): Lanes {
  const { owners: table, reader, address, clock, schedule, newId, receiveTimes, warn } = ports
  return new Ownership({
    table,
    clock,
    schedule,
    count: LIMITS.lanes,
    newNode: () => ({ id: newId(), address }),
    host: {
      gained: (lanes) => reader.gained(lanes),
      lost: (lanes) => reader.lost(lanes),
      handOver: (lanes) => reader.handOver(lanes),
      receiveTimes,
      failed: (error) =>
        warn('the table of lanes does not answer, and is asked again: check NATS', { err: error }),
    },
  })
}
