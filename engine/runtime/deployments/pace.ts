// How fast a deployment goes: how many places it has, which a ramp raises and lowers, and how many starts in a minute.
import type { Millis } from '../../../schemas/ids.ts'
import type { DeploymentSpec } from '../../domain/ota/deployment.ts'
import type { DeploymentCount } from '../../domain/ota/deployment-count.ts'

const MINUTE_MS = 60_000

export class Pace {
  readonly #spec: DeploymentSpec
  #window: number
  /** Successes in a row since the last change of the window. */
  #row = 0
  #succeeded = 0
  #failed = 0
  #starts: Millis[] = []

  /** `resumedAt`: when this leader took over from another. The ramp then starts again, so it may be too narrow but never
   *  too wide. */
  constructor(spec: DeploymentSpec, resumedAt?: Millis) {
    this.#spec = spec
    this.#window = Math.min(spec.maxConcurrent, spec.ramp?.start ?? spec.maxConcurrent)
    // How many jobs an earlier leader started within this minute is not known here, so the minute counts as used up.
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
