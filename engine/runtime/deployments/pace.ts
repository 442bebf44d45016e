// How fast a deployment goes: its places, which a ramp widens and narrows, and its starts within a minute.
import type { Millis } from '../../../schemas/ids.ts'
import type { DeploymentSpec } from '../../domain/ota/deployment.ts'
import type { DeploymentCount } from '../../domain/ota/deployment-count.ts'

const MINUTE_MS = 60_000

export class Pace {
  readonly #spec: DeploymentSpec
  #window: number
  /** Successes in a row since the window was last changed. */
  #row = 0
  #succeeded = 0
  #failed = 0
  #starts: Millis[] = []

  /** `resumedAt`: another leader began with it. Its ramp begins anew, narrower than it might be and never wider. */
  constructor(spec: DeploymentSpec, resumedAt?: Millis) {
    this.#spec = spec
    this.#window = Math.min(spec.maxConcurrent, spec.ramp?.start ?? spec.maxConcurrent)
    // What an earlier leader started within this minute is not known here.
    if (spec.ratePerMinute !== undefined && resumedAt !== undefined)
      this.#starts = new Array<Millis>(spec.ratePerMinute).fill(resumedAt)
  }

  get window(): number {
    return this.#window
  }

  counted({ succeeded, failed }: DeploymentCount): void {
    const { ramp, maxConcurrent } = this.#spec
    const [won, lost] = [succeeded - this.#succeeded, failed - this.#failed]
    this.#succeeded = succeeded
    this.#failed = failed
    if (ramp === undefined) return
    if (lost > 0) {
      this.#window = Math.max(1, Math.floor(this.#window / 2 ** lost))
      this.#row = 0
      return
    }
    this.#row += Math.max(0, won)
    while (this.#row >= this.#window && this.#window < maxConcurrent) {
      this.#row -= this.#window
      this.#window = Math.min(maxConcurrent, Math.ceil(this.#window * ramp.factor))
    }
  }

  started(now: Millis): void {
    if (this.#spec.ratePerMinute !== undefined) this.#starts.push(now)
  }

  startsLeft(now: Millis): number {
    const { ratePerMinute } = this.#spec
    if (ratePerMinute === undefined) return Number.POSITIVE_INFINITY
    this.#starts = this.#starts.filter((at) => at + MINUTE_MS > now)
    return Math.max(0, ratePerMinute - this.#starts.length)
  }
}
