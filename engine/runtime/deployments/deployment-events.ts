// The events of deployments for listeners: every change of status at once, and progress at most once a second for each. They
// follow from documents that every node reads, so nodes need not send them to each other.
import type { DeploymentId } from '../../../schemas/ids.ts'
import type { Deployment } from '../../domain/ota/deployment.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { DeploymentEvent } from '../../ports/deployments.ts'
import type { Schedule } from '../../ports/schedule.ts'

export interface DeploymentEventsPorts {
  readonly clock: Pick<Clock, 'now' | 'ticks'>
  readonly schedule: Pick<Schedule, 'after'>
  readonly failed: (error: unknown) => void
}

type Listener = (event: DeploymentEvent) => void

export class DeploymentEvents {
  readonly #ports: DeploymentEventsPorts
  readonly #listeners = new Set<Listener>()
  readonly #publishedAt = new Map<DeploymentId, number>()
  /** Progress that waits until the deployment's second is over. */
  readonly #waiting = new Map<DeploymentId, Deployment>()

  constructor(ports: DeploymentEventsPorts) {
    this.#ports = ports
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** `before` is undefined for a deployment that is new to this node. */
  changed(before: Deployment | undefined, after: Deployment): void {
    if (before === undefined) this.#publish('deployment.created', after)
    else if (isMoved(before, after)) this.#publish('deployment.status', after, before.status)
    else this.#progress(after)
  }

  forget(id: DeploymentId): void {
    this.#waiting.delete(id)
    this.#publishedAt.delete(id)
  }

  #progress(deployment: Deployment): void {
    const { id } = deployment
    const rest = (this.#publishedAt.get(id) ?? Number.NEGATIVE_INFINITY) + LIMITS.otaProgressMs - this.#now()
    if (rest <= 0) {
      this.#publish('deployment.progress', deployment)
      return
    }
    const isArmed = this.#waiting.has(id)
    this.#waiting.set(id, deployment)
    if (isArmed) return
    this.#ports.schedule.after(rest, () => {
      const waiting = this.#waiting.get(id)
      if (waiting !== undefined) this.#publish('deployment.progress', waiting)
    })
  }

  #publish(event: DeploymentEvent['event'], deployment: Deployment, previous?: Deployment['status']): void {
    const { id, finishedAt } = deployment
    // An event about a status includes the counts, so waiting progress is obsolete.
    this.#waiting.delete(id)
    if (finishedAt === undefined) this.#publishedAt.set(id, this.#now())
    else this.#publishedAt.delete(id)
    const message = { kind: 'deployment', event, at: this.#ports.clock.now(), deployment, previous } as const
    for (const listener of this.#listeners)
      try {
        listener(message)
      } catch (error) {
        // A bug in one listener must not affect the others.
        this.#ports.failed(error)
      }
  }

  #now(): number {
    return this.#ports.clock.ticks()
  }
}

function isMoved(before: Deployment, after: Deployment): boolean {
  return (
    before.status !== after.status ||
    before.statusReason !== after.statusReason ||
    before.finishedAt !== after.finishedAt
  )
}
