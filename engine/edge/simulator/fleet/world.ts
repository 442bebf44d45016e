// What all devices of a simulation share: the time, one timer wheel, and what is counted.
import { randomUUID } from 'node:crypto'
import { Histogram } from '../../histogram.ts'
import { type Due, Wheel } from '../decide/wheel.ts'
import { Counts } from '../scenario/summary.ts'
import { PublishParser } from '../wire/publish-parser.ts'
import { Tray } from '../wire/tray.ts'

export interface Task extends Due {
  /** What is due at the same time runs by this, so that one connection's messages go out in one write. */
  readonly rank?: number
  run(now: number): void
}

export const SLOT_MS = 20

export class World {
  readonly seed: number
  readonly counts = new Counts()
  /** Microseconds from publish to PUBACK. */
  readonly latency = new Histogram()
  readonly tray = new Tray()
  readonly parser = new PublishParser()
  /** Aborted when all devices stop. */
  readonly signal: AbortSignal
  /** Says something to whoever runs the simulation. */
  readonly log: (fields: Readonly<Record<string, unknown>>, text: string) => void
  /** Nobody measures any more. */
  isQuiet = false
  /** Tells the sessions of this run from those of others. */
  readonly runId = randomUUID().slice(0, 13)
  readonly #wheel: Wheel<Task>
  readonly #startedAt: number
  #stampAt = 0
  #stamp = ''

  constructor(options: Pick<World, 'seed' | 'signal' | 'log'>) {
    this.seed = options.seed
    this.signal = options.signal
    this.log = options.log
    this.#startedAt = this.now()
    this.#wheel = new Wheel(SLOT_MS, this.#startedAt)
  }

  /** Milliseconds of a clock that never goes back. */
  now(): number {
    return performance.now()
  }

  elapsedSec(): number {
    return (this.now() - this.#startedAt) / 1_000
  }

  /** This instant as ISO 8601, `skewMs` later. */
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

  after(ms: number, run: () => void): void {
    this.#wheel.add({ dueAt: this.now() + ms, run })
  }

  /** Runs what has become due, and sends what comes of it. */
  advance(): void {
    const now = this.now()
    const due = this.#wheel.advance(now)
    for (const task of due.toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0))) task.run(now)
    this.tray.flush()
  }
}
