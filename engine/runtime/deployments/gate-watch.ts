// Asks telemetry about the metrics of a gate. Does not run in the rounds, so that a slow database does not delay other
// deployments. A gate without an answer is not passed, and the question is asked again.
import type { GateQuestion, GateValue } from '../../domain/ota/stage-gate.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'

interface GateWatchPorts {
  readonly ask: (question: GateQuestion) => Promise<readonly GateValue[]>
  readonly clock: Pick<Clock, 'ticks'>
  /** Makes a round begin, because there is an answer. */
  readonly wake: () => void
  readonly failed: (error: unknown) => void
}

export class GateWatch {
  readonly #ports: GateWatchPorts
  #key: string | undefined
  #values: readonly GateValue[] | undefined
  #askAgainAt = 0

  constructor(ports: GateWatchPorts) {
    this.#ports = ports
  }

  /** Undefined until the question is answered. Never waits for the answer. */
  valuesFor(question: GateQuestion | undefined): readonly GateValue[] | undefined {
    if (question === undefined) return undefined
    const { clock } = this.#ports
    const key = `${question.stage} ${question.from}`
    if (key !== this.#key) {
      this.#key = key
      this.#values = undefined
      this.#askAgainAt = 0
    }
    if (this.#values === undefined && this.#askAgainAt <= clock.ticks()) void this.#ask(key, question)
    return this.#values
  }

  async #ask(key: string, question: GateQuestion): Promise<void> {
    // No second question until this one is answered or has failed.
    this.#askAgainAt = Number.POSITIVE_INFINITY
    const { ask, clock, wake, failed } = this.#ports
    try {
      const values = await ask(question)
      if (key === this.#key) this.#values = values
      wake()
    } catch (error) {
      if (key === this.#key) this.#askAgainAt = clock.ticks() + LIMITS.otaGateRetryMs
      failed(error)
    }
  }
}
