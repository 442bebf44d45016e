// The finished deployments that the leader keeps. Their status is final. Their counts follow the jobs for as long as a
// device may still prove late that it runs the firmware.
import type { DeploymentId, Millis } from '../../../schemas/ids.ts'
import type { Deployment } from '../../domain/ota/deployment.ts'
import { LIMITS } from '../../limits.ts'

export class FinishedDeployments {
  readonly #byId = new Map<DeploymentId, Deployment>()
  #countedAt = Number.NEGATIVE_INFINITY

  all(): readonly Deployment[] {
    return [...this.#byId.values()]
  }

  get(id: DeploymentId): Deployment | undefined {
    return this.#byId.get(id)
  }

  keep(deployment: Deployment): void {
    this.#byId.set(deployment.id, deployment)
  }

  forget(id: DeploymentId): void {
    this.#byId.delete(id)
  }

  /** Deployments whose jobs must be counted again now. Mostly empty, because each count looks at every device with jobs. */
  toCount(now: Millis): readonly Deployment[] {
    if (now < this.#countedAt + LIMITS.otaLateCountMs) return []
    this.#countedAt = now
    return this.all().filter((deployment) => mayChange(deployment, now))
  }
}

/** Only jobs that did not succeed can change, and every job ended before its deployment did. */
function mayChange({ counts, finishedAt }: Deployment, now: Millis): boolean {
  const isOpen = finishedAt !== undefined && finishedAt + LIMITS.otaLateMs + LIMITS.otaLateCountMs > now
  return isOpen && (counts.failed ?? 0) + (counts.timed_out ?? 0) + (counts.cancelled ?? 0) > 0
}
