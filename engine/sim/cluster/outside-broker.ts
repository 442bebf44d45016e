// The external broker that all nodes of a simulated cluster share. Each lane is read by at most one node. While no node
// reads a lane, the messages of its devices wait.

import { type DeviceId, Partition } from '../../../schemas/ids.ts'
import { MemoryBroker } from '../../adapters/broker/testing/memory.ts'
import { partitionOf } from '../../domain/partition.ts'
import { LIMITS } from '../../limits.ts'
import type { DeviceSession, LaneReader, UplinkHost } from '../../ports/broker.ts'
import type { Life } from './links.ts'

type Call = (host: UplinkHost) => void

/** A node that reads lanes. */
interface Reader {
  readonly life: Pick<Life, 'isOver'>
  readonly isRunning: boolean
  readonly host: UplinkHost
}

export class OutsideBroker {
  readonly broker = new MemoryBroker()
  readonly #readers = new Map<number, Reader>()
  readonly #waiting = new Map<number, Call[]>()
  /** Called when a lane gets a new reader, with a predicate for the devices of the lane. */
  readonly #left: (isOfLane: (deviceId: DeviceId) => boolean) => void

  constructor(options: {
    readonly admit: UplinkHost['admit']
    readonly sessionNumber: UplinkHost['sessionNumber']
    readonly left: (isOfLane: (deviceId: DeviceId) => boolean) => void
  }) {
    this.#left = options.left
    void this.broker.listen(this.#host(options))
  }

  readerFor(node: Reader): LaneReader {
    const stop = async (lanes: readonly Partition[]) => {
      for (const lane of lanes) if (this.#readers.get(lane) === node) this.#readers.delete(lane)
    }
    return {
      gained: (lanes) => {
        for (const { partition: lane } of lanes) this.#read(lane, node)
      },
      lost: (lanes) => void stop(lanes),
      handOver: stop,
    }
  }

  /** Call this when the node has died or was resumed. */
  look(node: Reader): void {
    for (const [lane, reader] of [...this.#readers]) {
      if (reader !== node) continue
      if (node.life.isOver) this.#readers.delete(lane)
      else this.#flush(lane)
    }
  }

  /** Returns the partitions of which the node has received every message so far. */
  heardBy(node: Reader): readonly Partition[] {
    return Array.from({ length: LIMITS.partitions }, (_, p) => Partition(p)).filter(
      (partition) => this.#readers.get(laneOf(partition)) === node && !this.#waiting.has(laneOf(partition)),
    )
  }

  /** True if a running node reads the device's messages now. */
  isRead(deviceId: DeviceId): boolean {
    const reader = this.#readers.get(laneOf(partitionOf(deviceId)))
    return reader?.isRunning === true
  }

  /** Makes the node the reader of the lane. The lane's devices lose their connections, so they connect and send again what
   *  the previous reader did not make durable. */
  #read(lane: number, node: Reader): void {
    const before = this.#readers.get(lane)
    if (before === node) return
    this.#readers.set(lane, node)
    this.#left((deviceId) => laneOf(partitionOf(deviceId)) === lane)
    this.#flush(lane)
  }

  #flush(lane: number): void {
    const reader = this.#readers.get(lane)
    if (reader === undefined || !reader.isRunning) return
    const calls = this.#waiting.get(lane) ?? []
    this.#waiting.delete(lane)
    for (const call of calls) call(reader.host)
  }

  #tell({ partition }: Pick<DeviceSession, 'partition'>, call: Call): void {
    const lane = laneOf(partition)
    const reader = this.#readers.get(lane)
    if (reader?.isRunning === true && !this.#waiting.has(lane)) call(reader.host)
    else this.#waiting.set(lane, [...(this.#waiting.get(lane) ?? []), call])
  }

  #host({
    admit,
    sessionNumber,
  }: {
    readonly admit: UplinkHost['admit']
    readonly sessionNumber: UplinkHost['sessionNumber']
  }): UplinkHost {
    return {
      admit,
      sessionNumber,
      opened: (session) => this.#tell(session, (host) => host.opened(session)),
      subscribed: (session) => this.#tell(session, (host) => host.subscribed(session)),
      uplink: (session, message) => this.#tell(session, (host) => host.uplink(session, message)),
      delivered: (session, suffix, requestId) =>
        this.#tell(session, (host) => host.delivered(session, suffix, requestId)),
      sync: (session) => this.#tell(session, (host) => host.sync(session)),
      left: (session) => this.#tell(session, (host) => host.left(session)),
      closed: (session, cause) => this.#tell(session, (host) => host.closed(session, cause)),
      refused: (session, wanted, message) =>
        this.#tell(session, (host) => host.refused(session, wanted, message)),
      heard: () => {},
      isCongested: () => false,
    }
  }
}

function laneOf(partition: Partition): number {
  return partition % LIMITS.lanes
}
