// How much work a shard has with alert rules, for the metrics. Comparing a value is cheaper than reading a clock, so only
// judgements are timed. A judgement begins where a comparison has changed its result.
import type { MutableCounts } from './counts.ts'

export class AlertEffort {
  readonly #ticks: () => number
  #evaluations = 0
  #ms = 0
  #startedAt = 0
  /** A judgement may lead to another one, which is timed as a part of it. */
  #depth = 0

  constructor(ticks: () => number) {
    this.#ticks = ticks
  }

  /** Starts the judgement of this many rules. */
  begin(rules: number): void {
    this.#evaluations += rules
    if (this.#depth++ === 0) this.#startedAt = this.#ticks()
  }

  end(): void {
    if (--this.#depth === 0) this.#ms += this.#ticks() - this.#startedAt
  }

  /** Moves the counts since the last call into the counts of a batch. */
  takeInto(counts: MutableCounts): void {
    counts.evaluations = this.#evaluations
    counts.alertsMs = this.#ms
    this.#evaluations = 0
    this.#ms = 0
  }
}
