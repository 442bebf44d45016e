// How fast a node works now: its rates over the last seconds, and how long its latest inserts took.
import { LIMITS } from '../limits.ts'

interface Totals {
  readonly at: number
  readonly messages: number
  readonly points: number
}

export interface PaceNow {
  readonly messagesPerSec: number
  readonly pointsPerSec: number
  /** Undefined before the first insert. */
  readonly insertP99Ms: number | undefined
}

export class Pace {
  #messages = 0
  #points = 0
  #looks: Totals[] = []
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
  look(at: number): void {
    if (this.#looks.length >= LIMITS.paceLooksMax) this.#looks.shift()
    this.#looks.push({ at, messages: this.#messages, points: this.#points })
  }

  now(): PaceNow {
    const [first, last] = [this.#looks[0], this.#looks.at(-1)]
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
