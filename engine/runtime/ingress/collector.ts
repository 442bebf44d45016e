// Collects what goes into the next append: a bundle per partition, and who to tell once it is durable.
import { type Micros, Partition } from '../../../schemas/ids.ts'
import { BundleWriter, type Item } from '../../domain/bundle.ts'
import { LIMITS } from '../../limits.ts'
import type { DeviceSession } from '../../ports/broker.ts'
import type { Fault } from '../../ports/fault.ts'
import type { Bundle } from '../../ports/log.ts'
import type { Append } from './append.ts'

export class Collector {
  readonly #writers: BundleWriter[] = []
  /** Partitions that have items. */
  #filled: number[] = []
  #firstAt = 0
  #sessions: DeviceSession[] = []
  #counts: number[] = []
  readonly #relays = new Set<DeviceSession>()
  #settled: ((fault: Fault | undefined) => void)[] = []
  #bytes = 0

  constructor() {
    for (let partition = 0; partition < LIMITS.partitions; partition++) this.#writers.push(new BundleWriter())
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Receive time of the first item, or 0 while there is none. */
  get firstAt(): number {
    return this.#firstAt
  }

  get hasRequests(): boolean {
    return this.#settled.length > 0
  }

  /** Whether an item for this partition must wait for another append. */
  isFull(partition: Partition): boolean {
    const writer = this.#writerOf(partition)
    const isBundleFull = writer.length >= LIMITS.bundleBytesMax - LIMITS.packetBytesMax
    return isBundleFull || this.#bytes >= LIMITS.commitBytesMax
  }

  add(partition: Partition, item: Item): void {
    const writer = this.#writerOf(partition)
    const before = writer.length
    if (before === 0) this.#filled.push(partition)
    if (this.#firstAt === 0) this.#firstAt = item.receivedAt
    writer.add(item)
    this.#bytes += writer.length - before
  }

  /** Counts a message that must be acknowledged to the session once it is durable. */
  count(session: DeviceSession): void {
    // One read of a socket holds many messages of one session, so these are counted as one run.
    const last = this.#sessions.length - 1
    if (last >= 0 && this.#sessions[last] === session) this.#counts[last] = (this.#counts[last] ?? 0) + 1
    else {
      this.#sessions.push(session)
      this.#counts.push(1)
    }
  }

  /** Calls back once the append is durable, or with the fault that made it fail. */
  onSettled(settled: (fault: Fault | undefined) => void): void {
    this.#settled.push(settled)
  }

  /** Notes that a gateway spoke for a sub-device. Returns true the first time in each append. */
  isFirstRelay(gateway: DeviceSession): boolean {
    if (this.#relays.has(gateway)) return false
    this.#relays.add(gateway)
    return true
  }

  /** Hands over everything collected, and starts again. */
  take(latestAt: Micros): Append {
    const bundles: Bundle[] = []
    for (const partition of this.#filled) {
      const writer = this.#writers[partition]
      if (writer !== undefined && writer.length > 0)
        bundles.push({ partition: Partition(partition), body: writer.take() })
    }
    const append: Append = {
      bundles,
      bytes: this.#bytes,
      sessions: this.#sessions,
      counts: this.#counts,
      settled: this.#settled,
      firstAt: this.#firstAt,
      latestAt,
    }
    this.#firstAt = 0
    this.#filled = []
    this.#sessions = []
    this.#counts = []
    this.#settled = []
    this.#relays.clear()
    this.#bytes = 0
    return append
  }

  #writerOf(partition: Partition): BundleWriter {
    const writer = this.#writers[partition]
    if (writer === undefined) throw new RangeError(`no partition ${partition}`)
    return writer
  }
}
