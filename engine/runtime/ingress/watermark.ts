// Up to when it is known that all that devices said is in the log: before that, who was silent was silent. After it,
// nobody is blamed: the ingress may be away, and devices heard all the same.
//
// Where the ingress is another process, it says so once a second, together with the end of the log: what is known here
// of the log must reach so far first.

import { Millis, type Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Log } from '../../ports/log.ts'
import type { Mesh } from '../../ports/mesh.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { pack, unpack } from '../versioned.ts'
import type { Ingest } from './ingest.ts'

type News = readonly [at: Millis, end: number, partitions: readonly Partition[]]

export interface WatermarkPorts {
  readonly ingest: Pick<Ingest, 'fault' | 'durableUpTo'>
  readonly log: Pick<Log, 'ends'>
  readonly mesh: Mesh | undefined
  readonly unreadable: (error: unknown) => void
}

const TOPIC = 'heard'

export class Watermark {
  readonly #parts: WatermarkPorts
  /** Watermarks of this process's broker that are not told to other nodes yet. */
  readonly #own = new Map<Partition, Millis>()
  /** Told, and waiting for the log to be known so far. */
  readonly #told = new Map<Partition, { readonly at: Millis; readonly end: number }>()
  readonly #certain = new Map<Partition, Millis>()
  /** The last news could not be read, and that was said. */
  #isMisread = false

  constructor(parts: WatermarkPorts) {
    this.#parts = parts
  }

  /** Returns what stops it. */
  start(schedule: Pick<Schedule, 'every'>): () => void {
    const { mesh } = this.#parts
    if (mesh === undefined) return () => {}
    const stops = [
      mesh.hear(TOPIC, (news) => this.#read(news)),
      schedule.every(LIMITS.watermarkEveryMs, () => this.#tell(mesh)),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }

  /** The broker has handed over all that these devices had said by then. */
  handedOver(partitions: readonly Partition[], at: Millis): void {
    for (const partition of partitions) this.#own.set(partition, at)
  }

  /** Undefined while it is not known for one of them. */
  upTo(partitions: readonly Partition[]): Millis | undefined {
    const { ingest, mesh } = this.#parts
    if (mesh === undefined) return ingest.fault() === undefined ? ingest.durableUpTo() : undefined
    const end = this.#end()
    let least: Millis | undefined
    for (const partition of partitions) {
      const told = this.#told.get(partition)
      if (told !== undefined && told.end <= end) this.#certain.set(partition, told.at)
      const at = this.#certain.get(partition)
      if (at === undefined) return undefined
      if (least === undefined || at < least) least = at
    }
    return least
  }

  #tell(mesh: Mesh): void {
    const { ingest } = this.#parts
    if (this.#own.size === 0 || ingest.fault() !== undefined) return
    const durable = ingest.durableUpTo()
    const byTime = new Map<Millis, Partition[]>()
    for (const [partition, at] of this.#own) {
      const upTo = Millis(Math.min(at, durable))
      byTime.set(upTo, [...(byTime.get(upTo) ?? []), partition])
    }
    this.#own.clear()
    const end = this.#end()
    for (const [at, partitions] of byTime) mesh.tell(TOPIC, pack([at, end, partitions] satisfies News))
  }

  /** What cannot be read says nothing: then silence proves nothing, and nobody is blamed. */
  #read(news: Uint8Array): void {
    try {
      // Packed by #tell of any node.
      this.#hear(unpack(news) as News)
      this.#isMisread = false
    } catch (error) {
      if (!this.#isMisread) this.#parts.unreadable(error)
      this.#isMisread = true
    }
  }

  #hear([at, end, partitions]: News): void {
    for (const partition of partitions) {
      const before = this.#told.get(partition)
      // What waits is not put off for ever by what comes after it.
      if (before !== undefined && before.end > this.#end()) continue
      if (before !== undefined) this.#certain.set(partition, before.at)
      if (before === undefined || at > before.at) this.#told.set(partition, { at: Millis(at), end })
    }
  }

  #end(): number {
    return this.#parts.log.ends().reduce((most, seq) => Math.max(most, seq), 0)
  }
}
