// State that all devices of a simulation share: the clock, the timer wheel and the counts.
import { randomUUID } from 'node:crypto'
import { Histogram } from '../../histogram.ts'
import { type Due, Wheel } from '../decide/wheel.ts'
import { Counts } from '../scenario/summary.ts'
import { PublishParser } from '../wire/publish-parser.ts'
import { WriteBuffer } from '../wire/write-buffer.ts'

export interface Task extends Due {
  /** Tasks that are due at the same time run in this order, so that the messages of one connection go out in one
   *  write. */
  readonly rank?: number
  run(now: number): void
}

export const SLOT_MS = 20

export class World {
  readonly seed: number
  readonly counts = new Counts()
  /** The time from publishing a message to its PUBACK, in microseconds. */
  readonly latency = new Histogram()
  readonly writeBuffer = new WriteBuffer()
  readonly parser = new PublishParser()
  /** Aborted when the simulation stops. */
  readonly signal: AbortSignal
  /** Writes a log line for the user of the simulation. */
  readonly log: (fields: Readonly<Record<string, unknown>>, text: string) => void
  /** True once the regular messages have stopped. */
  isQuiet = false
  /** Distinguishes the sessions of this run from those of other runs. */
  readonly runId = randomUUID().slice(0, 13)
  readonly #wheel: Wheel<Task>
  readonly #startedAt: number
  #isUnreachableTold = false
  #stampAt = 0
  #stamp = ''

  constructor(options: Pick<World, 'seed' | 'signal' | 'log'>) {
    this.seed = options.seed
    this.signal = options.signal
    this.log = options.log
    this.#startedAt = this.now()
    this.#wheel = new Wheel(SLOT_MS, this.#startedAt)
  }

  /** Milliseconds of a monotonic clock. */
  now(): number {
    return performance.now()
  }

  elapsedSec(): number {
    return (this.now() - this.#startedAt) / 1_000
  }

  /** Returns the current time plus `skewMs` in ISO 8601. */
  stamp(skewMs = 0): string {
    const at = Date.now()
    if (skewMs !== 0) return new Date(at + skewMs).toISOString()
    if (at !== this.#stampAt) {
      this.#stampAt = at
      this.#stamp = new Date(at).toISOString()
    }
    return this.#stamp
  }

  add(task: Task): void {
    this.#wheel.add(task)
  }

  /** Tells the user once that no device can connect, because then the address may be wrong. */
  unreachable(): void {
    if (this.#isUnreachableTold || this.counts.connects > 0) return
    this.#isUnreachableTold = true
    this.log(
      {},
      'no simulated device has connected so far, because nothing takes connections at the MQTT address',
    )
  }

  after(ms: number, run: () => void): void {
    this.#wheel.add({ dueAt: this.now() + ms, run })
  }

  /** Runs the tasks that are due, and sends the packets that they produced. */
  advance(): void {
    const now = this.now()
    const due = this.#wheel.advance(now)
    for (const task of due.toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0))) task.run(now)
    this.writeBuffer.flush()
  }
}
