// The deployments as the leader saved them, in the memory of every node. Downloads and changes of firmware use them and
// must not wait for another node.

import { DeploymentId, type DeviceId, type FirmwareId } from '../../../schemas/ids.ts'
import { SerialQueue } from '../../../schemas/serial-queue.ts'
import type { DeploymentStatus } from '../../../schemas/vocabulary.ts'
import { type Deployment, isFinalStatus } from '../../domain/ota/deployment.ts'
import { jobOf } from '../../domain/ota/firmware-jobs.ts'
import type { FirmwareState } from '../../domain/ota/tally.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { DeploymentEvent } from '../../ports/deployments.ts'
import type { Documents } from '../../ports/documents.ts'
import type { Feed, FeedEvent } from '../../ports/feed.ts'
import type { DownloadJobs, FirmwareUse, JobName } from '../../ports/ota.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { retryUntilDone } from '../retry-until-done.ts'
import { DEPLOYMENTS, readDeployment, readDeployments } from './deployment-documents.ts'
import { DeploymentEvents } from './deployment-events.ts'

export interface DeploymentCachePorts {
  readonly documents: Documents
  readonly schedule: Pick<Schedule, 'sleep' | 'after'>
  readonly feed: Pick<Feed, 'listen'>
  readonly firmwareOf: (ids: readonly DeviceId[]) => Promise<readonly (FirmwareState | undefined)[]>
  readonly began: (job: JobName) => Promise<unknown>
  readonly refused: (job: JobName) => Promise<unknown>
  readonly sent: (job: JobName, bytes: number) => Promise<unknown>
  readonly clock: Pick<Clock, 'now' | 'ticks'>
  readonly imageMissing: (id: FirmwareId) => Promise<unknown>
  readonly wayBackOf: (id: FirmwareId) => Promise<number>
  readonly abort: (id: FirmwareId) => Promise<void>
  readonly failed: (error: unknown) => void
}

/** How many single jobs are remembered per list. Records of deployments do not tell which jobs were cancelled alone. */
const CANCELLED_MAX = 10_000
/** How long a download waits for the owner of its device. */
const OWNER_WAIT_MS = 1_000
const ACTIVE = [
  'pending',
  'in_progress',
  'paused',
  'rolling_back',
] as const satisfies readonly DeploymentStatus[]

export class DeploymentCache implements FirmwareUse, DownloadJobs {
  readonly #ports: DeploymentCachePorts
  readonly #deployments = new Map<DeploymentId, Deployment>()
  readonly #cancelled = new Set<string>()
  /** Jobs whose owners were asked whether they are cancelled. The feed tells of later cancellations. */
  readonly #known = new Set<string>()
  readonly #asking = new Map<string, Promise<void>>()
  readonly #began = new Set<string>()
  /** Bytes of each job that this node has sent, until they are added to the job at its next move. */
  readonly #sent = new Map<string, number>()
  /** When each job's download was last refused. */
  readonly #refused = new Map<string, number>()
  readonly #events: DeploymentEvents
  /** One after the other, because a list that is read takes longer than what is written meanwhile, and lacks it. */
  readonly #reads = new SerialQueue()
  #isClosed = false

  constructor(ports: DeploymentCachePorts) {
    this.#ports = ports
    this.#events = new DeploymentEvents(ports)
  }

  listen = (listener: (event: DeploymentEvent) => void) => this.#events.listen(listener)

  /** Returns a function that stops it. */
  open(): () => void {
    const { documents, feed } = this.#ports
    const stops = [
      documents.onWritten((collection, id) => {
        if (collection === undefined) return this.#reads.run(() => this.#load())
        if (collection !== DEPLOYMENTS || id === undefined) return undefined
        return this.#reads.run(() => this.#loadOne(DeploymentId(id)))
      }),
      feed.listen(
        (events) => this.#onFeedEvents(events),
        // One of them may have told of a cancellation, so owners are asked again.
        () => this.#known.clear(),
      ),
    ]
    void this.#reads.run(() => this.#load())
    return () => {
      this.#isClosed = true
      for (const stop of stops) stop()
    }
  }

  deployments(id: FirmwareId): { readonly active: readonly DeploymentId[]; readonly total: number } {
    const all = [...this.#deployments.values()].filter(({ firmware }) => firmware.id === id)
    return {
      active: all.filter(({ status }) => !isFinalStatus(status)).map((deployment) => deployment.id),
      total: all.length,
    }
  }

  countByStatus(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const { status } of this.#deployments.values()) counts[status] = (counts[status] ?? 0) + 1
    return counts
  }

  /** Counts the jobs of unfinished deployments by status. */
  countJobs(): Readonly<Record<string, number>> {
    const sum: Record<string, number> = {}
    for (const { counts, finishedAt } of this.#deployments.values())
      if (finishedAt === undefined)
        for (const [status, jobs] of Object.entries(counts)) sum[status] = (sum[status] ?? 0) + jobs
    return sum
  }

  /** The number of deployments that have begun and are not final. */
  active(): number {
    const counts = this.countByStatus()
    return ACTIVE.reduce((sum, status) => sum + (counts[status] ?? 0), 0)
  }

  countRollbackDevices = (id: FirmwareId) => this.#ports.wayBackOf(id)
  abort = (id: FirmwareId) => this.#ports.abort(id)

  isWithdrawn({ deploymentId, deviceId }: JobName): boolean {
    const status = this.#deployments.get(deploymentId)?.status
    if (status === 'cancelled' || status === 'aborted') return true
    return this.#cancelled.has(keyOf(deploymentId, deviceId))
  }

  async untilKnown(job: JobName): Promise<void> {
    const key = keyOf(job.deploymentId, job.deviceId)
    if (this.#known.has(key)) return
    const asking = this.#asking.get(key) ?? this.#askOwner(job).finally(() => this.#asking.delete(key))
    this.#asking.set(key, asking)
    await Promise.race([asking, this.#ports.schedule.sleep(OWNER_WAIT_MS)])
  }

  began(job: JobName): void {
    const key = keyOf(job.deploymentId, job.deviceId)
    if (this.#began.has(key)) return
    makeRoom(this.#began)
    this.#began.add(key)
    this.#ports.began(job).catch((error: unknown) => {
      this.#began.delete(key)
      this.#ports.failed(error)
    })
  }

  sent({ deploymentId, deviceId }: JobName, bytes: number): void {
    const key = keyOf(deploymentId, deviceId)
    makeRoom(this.#sent)
    this.#sent.set(key, (this.#sent.get(key) ?? 0) + bytes)
  }

  unreportedBytes({ deploymentId, deviceId }: JobName): number {
    return this.#sent.get(keyOf(deploymentId, deviceId)) ?? 0
  }

  refused(job: JobName): void {
    const key = keyOf(job.deploymentId, job.deviceId)
    const now = this.#ports.clock.ticks()
    if ((this.#refused.get(key) ?? Number.NEGATIVE_INFINITY) + LIMITS.otaRefusedMs > now) return
    makeRoom(this.#refused)
    this.#refused.set(key, now)
    this.#ports.refused(job).catch((error: unknown) => this.#ports.failed(error))
  }

  imageMissing(id: FirmwareId): void {
    this.#ports.imageMissing(id).catch((error: unknown) => this.#ports.failed(error))
  }

  async #askOwner({ deploymentId, deviceId }: JobName): Promise<void> {
    const key = keyOf(deploymentId, deviceId)
    try {
      const [state] = await this.#ports.firmwareOf([deviceId])
      if (state !== undefined && jobOf(state.firmware, deploymentId)?.status === 'cancelled')
        this.#withdraw(key)
      makeRoom(this.#known)
      this.#known.add(key)
    } catch (error) {
      this.#ports.failed(error)
    }
  }

  #withdraw(key: string): void {
    makeRoom(this.#cancelled)
    this.#cancelled.add(key)
  }

  #onFeedEvents(events: readonly FeedEvent[]): void {
    for (const event of events) {
      if (event.kind !== 'job') continue
      const { plan, back, status, attempt } = event.job
      const at = back?.status ?? status
      const key = keyOf(plan.deploymentId, event.deviceId)
      if (at !== 'notified' && at !== 'downloading')
        this.#submitSentBytes({ deploymentId: plan.deploymentId, deviceId: event.deviceId })
      // Another attempt downloads the image again.
      if (status === 'pending') this.#began.delete(key)
      if (status !== 'cancelled') this.#cancelled.delete(key)
      // Without an attempt there is no link to withdraw. A large deployment that stops cancels very many such jobs.
      else if (attempt > 0) this.#withdraw(key)
    }
  }

  /** Adds the bytes sent to a job that has just moved, as that move was saved anyway. Bytes alone cause no save (U8). */
  #submitSentBytes(job: JobName): void {
    const key = keyOf(job.deploymentId, job.deviceId)
    const bytes = this.#sent.get(key)
    if (bytes === undefined) return
    this.#sent.delete(key)
    this.#ports.sent(job, bytes).catch((error: unknown) => {
      this.#sent.set(key, (this.#sent.get(key) ?? 0) + bytes)
      this.#ports.failed(error)
    })
  }

  async #load(): Promise<void> {
    const found = await this.#retryUntilDone(() => readDeployments(this.#ports.documents))
    if (found === undefined) return
    const ids = new Set(found.map(({ id }) => id))
    for (const id of this.#deployments.keys()) if (!ids.has(id)) this.#forget(id)
    // A deployment that was not known here is not announced, because it may be old. A change of a known one is.
    for (const deployment of found)
      this.#update(deployment, { isAnnounced: this.#deployments.has(deployment.id) })
  }

  async #loadOne(id: DeploymentId): Promise<void> {
    const found = await this.#retryUntilDone(async () => ({
      deployment: await readDeployment(this.#ports.documents, id),
    }))
    if (found === undefined) return
    if (found.deployment !== undefined) return this.#update(found.deployment, { isAnnounced: true })
    this.#forget(id)
  }

  #forget(id: DeploymentId): void {
    this.#deployments.delete(id)
    this.#events.forget(id)
  }

  #update(deployment: Deployment, { isAnnounced }: { readonly isAnnounced: boolean }): void {
    const known = this.#deployments.get(deployment.id)
    if (known !== undefined && known.revision > deployment.revision) return
    this.#deployments.set(deployment.id, deployment)
    if (isAnnounced) this.#events.changed(known, deployment)
  }

  #retryUntilDone<Found>(look: () => Promise<Found>): Promise<Found | undefined> {
    return retryUntilDone(look, () => this.#isClosed, this.#ports)
  }
}

function keyOf(deploymentId: DeploymentId, deviceId: DeviceId): string {
  return `${deploymentId} ${deviceId}`
}

/** Removes the oldest key if the collection is full. */
function makeRoom(keys: Set<string> | Map<string, unknown>): void {
  if (keys.size < CANCELLED_MAX) return
  for (const key of keys.keys()) {
    keys.delete(key)
    return
  }
}
