// Deployments that have finished, as the leader keeps them. Their status stands; their counts follow the jobs for as long
// as a device may still prove late that it runs the firmware.
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

  /** Those whose jobs have to be counted again now. Not asked for in every round: each count looks at every device that
   *  has jobs. */
  toCount(now: Millis): readonly Deployment[] {
    if (now < this.#countedAt + LIMITS.otaLateCountMs) return []
    this.#countedAt = now
    return this.all().filter((deployment) => mayChange(deployment, now))
  }
}

/** The jobs that did not succeed ended before the deployment did. */
function mayChange({ counts, finishedAt }: Deployment, now: Millis): boolean {
  const isOpen = finishedAt !== undefined && finishedAt + LIMITS.otaLateMs + LIMITS.otaLateCountMs > now
  return isOpen && (counts.failed ?? 0) + (counts.timed_out ?? 0) + (counts.cancelled ?? 0) > 0
}
