// An entry that kills its shard must not stall its partition (R10): after a second death the entries of the batch
// are tried one by one, and one that kills again and again is parked.
import { Buffer } from 'node:buffer'
import type { DeviceId, Micros } from '../../schemas/ids.ts'
import { topicOf } from '../../schemas/topics.ts'
import { type Frame, readFrames } from '../domain/bundle.ts'
import { LIMITS } from '../limits.ts'
import type { Entry } from '../ports/log.ts'
import type { DeadLetter, Store } from '../ports/store.ts'
import type { Portion } from './source.ts'

export class Poison {
  readonly #store: Store
  #deaths = 0
  #careful: Entry[] = []
  #rows = true
  /** Its rows would kill the next life alike: parked entries are left out of every later batch. */
  readonly #parked = new Set<string>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Deaths since the last batch that passed. */
  get deaths(): number {
    return this.#deaths
  }

  passed(): void {
    if (this.#careful.length === 0) this.#deaths = 0
  }

  /** The rest of a batch that is tried entry by entry. */
  next(): Portion | undefined {
    const entry = this.#careful.shift()
    return entry === undefined ? undefined : { entries: [entry], rows: this.#rows }
  }

  /** What of a portion may be tried together: without what is parked, and alone after a second death. */
  narrow(portion: Portion): Portion | undefined {
    const entries =
      this.#parked.size === 0
        ? portion.entries
        : portion.entries.filter((entry) => !this.#parked.has(keyOf(entry)))
    const [first, ...rest] = entries
    if (first === undefined) return undefined
    if (this.#deaths < 2 || rest.length === 0) return { entries, rows: portion.rows }
    this.#careful = rest
    this.#rows = portion.rows
    return { entries: [first], rows: portion.rows }
  }

  /** The shard is read again from the log: nothing tried one by one is left over. */
  startOver(): void {
    this.#careful = []
  }

  async suspect(entries: readonly Entry[]): Promise<void> {
    this.#deaths++
    const [entry] = entries
    if (entries.length !== 1 || entry === undefined || this.#deaths < LIMITS.attemptsMax) return
    await this.#store.save({
      applied: [
        { partition: entry.partition, seq: Math.max(entry.seq, this.#store.applied()[entry.partition] ?? 0) },
      ],
      changed: [],
      late: [],
      history: [],
      deadLetters: toDeadLetters(entry),
    })
    this.#parked.add(keyOf(entry))
    this.#deaths = 0
  }
}

function keyOf({ partition, seq }: Entry): string {
  return `${partition} ${seq}`
}

function toDeadLetters(entry: Entry): readonly DeadLetter[] {
  return [...readFrames(entry.body)].map((frame, index) => toDeadLetter(entry, frame, index))
}

function toDeadLetter(entry: Entry, frame: Frame, index: number): DeadLetter {
  // Both written by the ingress.
  const deviceId = Buffer.from(frame.id).toString('latin1') as DeviceId
  const receivedAt = frame.receivedAt as Micros
  return {
    id: `dl_${entry.partition}_${entry.seq}_${index}`,
    deviceId,
    topic: topicOf(deviceId, Buffer.from(frame.suffix).toString('utf8')),
    reason: 'SHARD_CRASH',
    detail: 'the thread died on this message, or on one of the same bundle, again and again',
    payload: frame.payload.slice(0, LIMITS.deadLetterPayloadBytesMax),
    payloadBytes: frame.payload.length,
    receivedAt,
  }
}
