// The time up to which everything that devices sent is known to be in the log. A device that was silent before it really
// was silent. After it, silence proves nothing: the ingress may be down although devices send.
//
// If the ingress is another process, it announces its watermark once a second, together with the end of the log. The
// watermark counts once this process knows the log up to that end.

import { Millis, type Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Log } from '../../ports/log.ts'
import type { Mesh } from '../../ports/mesh.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { pack, unpack } from '../versioned.ts'
import type { Ingest } from './ingest.ts'

type WatermarkMessage = readonly [at: Millis, end: number, partitions: readonly Partition[]]

export interface WatermarkPorts {
  readonly ingest: Pick<Ingest, 'fault' | 'durableUpTo'>
  readonly log: Pick<Log, 'ends'>
  readonly mesh: Mesh | undefined
  readonly unreadable: (error: unknown) => void
}

const TOPIC = 'heard'

export class Watermark {
  readonly #ports: WatermarkPorts
  /** Watermarks of this process's broker that other nodes have not been told yet. */
  readonly #own = new Map<Partition, Millis>()
  /** Watermarks that count once the log is known up to `end`. */
  readonly #announced = new Map<Partition, { readonly at: Millis; readonly end: number }>()
  readonly #reached = new Map<Partition, Millis>()
  /** Whether the last message could not be read. That was reported once. */
  #isUnreadableReported = false

  constructor(ports: WatermarkPorts) {
    this.#ports = ports
  }

  /** Returns a function that stops it. */
  start(schedule: Pick<Schedule, 'every'>): () => void {
    const { mesh } = this.#ports
    if (mesh === undefined) return () => {}
    const stops = [
      mesh.subscribe(TOPIC, (message) => this.#read(message)),
      schedule.every(LIMITS.watermarkEveryMs, () => this.#announce(mesh)),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }

  /** Called when the broker has handed over everything that these devices sent before `at`. */
  handedOver(partitions: readonly Partition[], at: Millis): void {
    for (const partition of partitions) this.#own.set(partition, at)
  }

  /** Undefined while it is not known for one of the partitions. */
  upTo(partitions: readonly Partition[]): Millis | undefined {
    const { ingest, mesh } = this.#ports
    if (mesh === undefined) return ingest.fault() === undefined ? ingest.durableUpTo() : undefined
    const end = this.#end()
    let least: Millis | undefined
    for (const partition of partitions) {
      const announced = this.#announced.get(partition)
      if (announced !== undefined && announced.end <= end) this.#reached.set(partition, announced.at)
      const at = this.#reached.get(partition)
      if (at === undefined) return undefined
      if (least === undefined || at < least) least = at
    }
    return least
  }

  #announce(mesh: Mesh): void {
    const { ingest } = this.#ports
    if (this.#own.size === 0 || ingest.fault() !== undefined) return
    const durable = ingest.durableUpTo()
    const byTime = new Map<Millis, Partition[]>()
    for (const [partition, at] of this.#own) {
      const upTo = Millis(Math.min(at, durable))
      byTime.set(upTo, [...(byTime.get(upTo) ?? []), partition])
    }
    this.#own.clear()
    const end = this.#end()
    for (const [at, partitions] of byTime)
      mesh.publish(TOPIC, pack([at, end, partitions] satisfies WatermarkMessage))
  }

  /** Ignores a message that cannot be read. The watermark then stays where it is, and later silence proves nothing. */
  #read(message: Uint8Array): void {
    try {
      // Packed by `#tell` of any node.
      this.#receive(unpack(message) as WatermarkMessage)
      this.#isUnreadableReported = false
    } catch (error) {
      if (!this.#isUnreadableReported) this.#ports.unreadable(error)
      this.#isUnreadableReported = true
    }
  }

  #receive([at, end, partitions]: WatermarkMessage): void {
    for (const partition of partitions) {
      const before = this.#announced.get(partition)
      // Later messages must not postpone the waiting watermark for ever.
      if (before !== undefined && before.end > this.#end()) continue
      if (before !== undefined) this.#reached.set(partition, before.at)
      if (before === undefined || at > before.at) this.#announced.set(partition, { at: Millis(at), end })
    }
  }

  #end(): number {
    return this.#ports.log.ends().reduce((most, seq) => Math.max(most, seq), 0)
  }
}
