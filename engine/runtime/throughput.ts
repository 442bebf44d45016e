// How fast a node works now: its rates over the last seconds, and how long its latest inserts took.
import { LIMITS } from '../limits.ts'

interface ThroughputSample {
  readonly at: number
  readonly messages: number
  readonly points: number
}

export interface CurrentThroughput {
  readonly messagesPerSec: number
  readonly pointsPerSec: number
  /** Undefined before the first insert. */
  readonly insertP99Ms: number | undefined
}

export class Throughput {
  #messages = 0
  #points = 0
  #samples: ThroughputSample[] = []
  #insertMs: number[] = []

  worked(messages: number, points: number): void {
    this.#messages += messages
    this.#points += points
  }

  inserted(ms: number): void {
    if (this.#insertMs.length >= LIMITS.paceInsertsMax) this.#insertMs.shift()
    this.#insertMs.push(ms)
  }

  /** Called every `LIMITS.sweepEveryMs`. */
  sample(at: number): void {
    if (this.#samples.length >= LIMITS.paceLooksMax) this.#samples.shift()
    this.#samples.push({ at, messages: this.#messages, points: this.#points })
  }

  now(): CurrentThroughput {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    const seconds = first === undefined || last === undefined ? 0 : (last.at - first.at) / 1000
    const perSec = (count: number) => (seconds === 0 ? 0 : Math.round((count * 10) / seconds) / 10)
    const sorted = [...this.#insertMs].sort((a, b) => a - b)
    return {
      messagesPerSec: perSec((last?.messages ?? 0) - (first?.messages ?? 0)),
      pointsPerSec: perSec((last?.points ?? 0) - (first?.points ?? 0)),
      insertP99Ms: sorted[Math.ceil(sorted.length * 0.99) - 1],
    }
  }
}
