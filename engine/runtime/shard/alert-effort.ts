// How much work a shard has with alert rules, for the metrics. Comparing a value costs less than reading a clock, so only
// judgements are timed: they begin where a comparison has come out otherwise than before.
import type { MutableCounts } from './counts.ts'

export class AlertEffort {
  readonly #ticks: () => number
  #evaluations = 0
  #ms = 0
  #startedAt = 0
  /** A judgement may lead to another one, whose time is counted already. */
  #depth = 0

  constructor(ticks: () => number) {
    this.#ticks = ticks
  }

  /** This many rules are judged now. */
  begin(rules: number): void {
    this.#evaluations += rules
    if (this.#depth++ === 0) this.#startedAt = this.#ticks()
  }

  end(): void {
    if (--this.#depth === 0) this.#ms += this.#ticks() - this.#startedAt
  }

  /** Moves what was counted since the last time into the counts of a batch. */
  takeInto(counts: MutableCounts): void {
    counts.evaluations = this.#evaluations
    counts.alertsMs = this.#ms
    this.#evaluations = 0
    this.#ms = 0
  }
}
