// The leader's service for deployments: it enlists members, gives places to jobs, counts, and decides how each deployment
// continues.
//
// - Everything is counted again from the jobs in each round. Nothing is remembered that a crash could take away.
// O2. A grant is saved with the leader's claim before it is sent, and kept until it is answered. So a leader that does not
//     know yet that another one leads cannot give places any more, and the next leader first repeats the grants that may
//     be in flight. Repeating a grant changes nothing. So there are never more jobs than places.
// O3. One thing at a time: a user's request and a round never decide at the same time.

import { eachAtOnce } from '../../../schemas/each-at-once.ts'
import type { DeploymentId, DeviceId, Millis } from '../../../schemas/ids.ts'
import { SerialQueue } from '../../../schemas/serial-queue.ts'
import type { AuditEntry } from '../../domain/audit/entry.ts'
import { chunks } from '../../domain/chunks.ts'
import type { DeviceRequest } from '../../domain/device/events.ts'
import { type Deployment, isFinalStatus, type Members } from '../../domain/ota/deployment.ts'
import { countOf } from '../../domain/ota/deployment-count.ts'
import { abortDeployment, advance, withFinalCounts } from '../../domain/ota/deployment-progress.ts'
import { type Grant, planGrants, type RunningDeployment } from '../../domain/ota/grant-plan.ts'
import { type GateQuestion, type GateValue, gateQuestion } from '../../domain/ota/stage-gate.ts'
import type { FirmwareState, JobTally } from '../../domain/ota/tally.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { DeploymentState } from '../../ports/deployments.ts'
import type { Authorship, RequestOutcome } from '../../ports/engine.ts'
import type { Firmwares } from '../../ports/ota.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { type Claim, NO_SAVE, type Store } from '../../ports/store.ts'
import { ClockLeaps } from '../clock-leaps.ts'
import { grouped } from '../grouped.ts'
import { abortEntry, rollbackEntries } from './deployment-audit.ts'
import {
  deploymentDocument,
  documentRemovals,
  grantsDocument,
  membersDocument,
  readDeployments,
  readGrants,
  readMembers,
} from './deployment-documents.ts'
import { FinishedDeployments } from './finished-deployments.ts'
import { GateWatch } from './gate-watch.ts'
import {
  goalOf,
  isEnlisted,
  type LiveDeployment,
  markEnlisted,
  membersFrom,
  planOf,
  supersededJobs,
  supersedes,
  toLive,
  toState,
  windowOf,
  withScope,
} from './live-deployment.ts'
import { Pace } from './pace.ts'
import { RoundRest } from './round-rest.ts'

export interface OrchestratorPorts {
  readonly store: Pick<Store, 'save' | 'documents' | 'devices'>
  /** The leader's claims, which every save carries. */
  readonly claims: readonly Claim[]
  readonly firmwares: Pick<Firmwares, 'get' | 'all'>
  readonly clock: Clock
  readonly schedule: Schedule
  readonly submit: (deviceId: DeviceId, request: DeviceRequest, signed: Authorship) => Promise<RequestOutcome>
  readonly tallies: (ids: readonly DeploymentId[]) => Promise<readonly JobTally[]>
  readonly firmwareOf: (ids: readonly DeviceId[]) => Promise<readonly (FirmwareState | undefined)[]>
  /** Asks telemetry. */
  readonly gateValues: (question: GateQuestion) => Promise<readonly GateValue[]>
  /** Called with the duration of each round. */
  readonly roundTook: (seconds: number) => void
  readonly downloadsMax: number
  readonly retentionMs: number
  /** Adds entries to the audit. */
  readonly record: (entries: readonly AuditEntry[]) => Promise<void>
  readonly failed: (error: unknown) => void
}

export const OTA_AUTHOR = { kind: 'ota', id: 'ota' } as const

export class Orchestrator {
  readonly #ports: OrchestratorPorts
  readonly #leaps: ClockLeaps
  readonly #live = new Map<DeploymentId, LiveDeployment>()
  /** Finished deployments. */
  readonly #past = new FinishedDeployments()
  #grants: readonly Grant[] = []
  readonly #decisions = new SerialQueue()
  readonly #rest = new RoundRest()
  #wake = () => {}
  #isClosed = false

  constructor(ports: OrchestratorPorts) {
    this.#ports = ports
    this.#leaps = new ClockLeaps(ports.clock)
  }

  /** Continues with what earlier leaders began (O2). */
  async open(): Promise<void> {
    const { store, clock } = this.#ports
    const { documents } = store
    for (const deployment of await readDeployments(documents)) {
      if (deployment.finishedAt !== undefined) this.#past.keep(deployment)
      else {
        const members = (await readMembers(documents, deployment.id)) ?? { stages: [], skipped: [] }
        const own = { pace: new Pace(deployment.spec, clock.now()), gate: this.#newGate() }
        this.#live.set(deployment.id, toLive(deployment, members, own))
      }
    }
    this.#grants = await readGrants(documents)
    void this.#run()
  }

  close(): void {
    this.#isClosed = true
    this.#wake()
  }

  /** Runs the work after everything that was queued before it (O3). */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#decisions.run(work)
  }

  /** Newest first. */
  all(): readonly DeploymentState[] {
    const now = this.#ports.clock.now()
    const live = [...this.#live.values()].map((each) => toState(each, now))
    const past = this.#past.all().map((deployment) => ({ deployment, held: {}, window: 0 }))
    return [...live, ...past].sort((a, b) => b.deployment.createdAt - a.deployment.createdAt)
  }

  state(id: DeploymentId): DeploymentState | undefined {
    const live = this.#live.get(id)
    if (live !== undefined) return toState(live, this.#ports.clock.now())
    const deployment = this.#past.get(id)
    return deployment && { deployment, held: {}, window: 0 }
  }

  /** Stops the deployment as if its jobs had failed. */
  async abort(id: DeploymentId, reason: string): Promise<void> {
    const live = this.#live.get(id)
    if (live === undefined) return
    const cause = { reason, evidence: {} }
    await this.change(abortDeployment(live.deployment, live.count, this.#ports.clock.now(), cause))
  }

  openCount(): number {
    return this.#live.size
  }

  isFamilyBusy(id: DeploymentId, deviceId: DeviceId): boolean {
    return this.#live.get(id)?.heldByFamily.has(deviceId) ?? false
  }

  /** Whether the device is a member of an unfinished deployment. */
  isMember(id: DeploymentId, deviceId: DeviceId): boolean {
    const { stages = [], skipped = [] } = this.#live.get(id)?.members ?? {}
    return stages.some((ids) => ids.includes(deviceId)) || skipped.some((each) => each.deviceId === deviceId)
  }

  async membersOf(id: DeploymentId): Promise<Members | undefined> {
    return this.#live.get(id)?.members ?? readMembers(this.#ports.store.documents, id)
  }

  /** Resolves once the deployment is saved. */
  async begin(deployment: Deployment, members: Members): Promise<void> {
    const { store, claims } = this.#ports
    const documents = [deploymentDocument(deployment), membersDocument(deployment.id, members)]
    await store.save({ ...NO_SAVE, claims, documents })
    const own = { pace: new Pace(deployment.spec), gate: this.#newGate() }
    this.#live.set(deployment.id, toLive(deployment, members, own))
    this.#wake()
  }

  /** Cancels the older jobs of its devices that the deployment takes the place of, unless that was done. */
  async supersede(id: DeploymentId): Promise<void> {
    const live = this.#live.get(id)
    if (live === undefined || !supersedes(live)) return
    const { stages, skipped } = live.members
    const { kind, createdAt } = live.deployment
    // A deployment that is not known any more ended long ago.
    const isOlder = (other: DeploymentId) =>
      other !== id && (this.state(other)?.deployment.createdAt ?? 0) <= createdAt
    const ids = [...stages.flat(), ...skipped.map(({ deviceId }) => deviceId)]
    for (const some of chunks(ids, LIMITS.otaStatesAtOnce)) {
      const superseded = supersededJobs(kind, await this.#ports.firmwareOf(some), isOlder)
      await eachAtOnce(superseded, LIMITS.otaRequestsAtOnce, ({ deviceId, deploymentId }) =>
        this.#submit(deviceId, { kind: 'ota_cancel', deploymentId, code: 'SUPERSEDED' }),
      )
    }
    await this.#save([{ ...live.deployment, hasSuperseded: true }])
  }

  /** Replaces the record of an unfinished deployment. */
  async change(deployment: Deployment): Promise<void> {
    await this.#save([deployment])
    this.#wake()
  }

  /** One round: counts all jobs, decides about every deployment, and gives places to jobs. */
  async round(): Promise<void> {
    // All grants in flight must be answered before anything is counted (O2).
    await this.#giveOut()
    await this.#recount()
    await this.#forget(this.#ports.clock.now())
    const live = [...this.#live.values()]
    if (live.length === 0) return
    for (const each of live) await this.supersede(each.deployment.id)
    const began = this.#ports.clock.ticks()
    const tallies = await this.#ports.tallies(live.map(({ deployment }) => deployment.id))
    this.#rest.counted(this.#ports.clock.ticks() - began)
    const now = this.#ports.clock.now()
    this.#leaps.measure()
    const times = { now, leaps: this.#leaps.all }
    const moved: Deployment[] = []
    for (const each of live) {
      each.count = countOf(each.deployment, tallies)
      each.pace.counted(each.count)
      const gateValues = each.gate.valuesFor(gateQuestion(each.deployment, each.count, times))
      const known = { ...times, isEnlisted: isEnlisted(each), gateValues }
      const after = markEnlisted(advance(each.deployment, each.count, known), each)
      if (after !== each.deployment) moved.push(after)
    }
    if (moved.length > 0) await this.#save(moved)
    for (const each of live) await this.#stop(each)
    // Members are asked while places are given, so that no place is empty until all of a large fleet are asked. Both end
    // before the next count.
    await allEnded([this.#giveNew(live, now), ...live.map((each) => this.#enlist(each))])
  }

  /** Counts again for finished deployments, because jobs that are proved late count, too. */
  async #recount(): Promise<void> {
    const finished = this.#past.toCount(this.#ports.clock.now())
    if (finished.length === 0) return
    const tallies = await this.#ports.tallies(finished.map(({ id }) => id))
    const counted = finished.map((deployment) => ({ deployment, count: countOf(deployment, tallies) }))
    // A job that began while its deployment ended would wait for ever, and the device's later jobs with it.
    for (const each of counted) await this.#stop(each)
    const changed = counted
      .map(({ deployment, count }) => withFinalCounts(deployment, count))
      .filter((after, i) => after !== finished[i])
    if (changed.length > 0) await this.#save(changed)
  }

  async #timedRound(): Promise<void> {
    const { clock, roundTook } = this.#ports
    const began = clock.ticks()
    await this.round()
    roundTook((clock.ticks() - began) / 1_000)
  }

  #newGate(): GateWatch {
    const { clock, failed, gateValues: ask } = this.#ports
    return new GateWatch({ ask, clock, failed, wake: () => this.#wake() })
  }

  async #run(): Promise<void> {
    const { schedule, failed } = this.#ports
    while (!this.#isClosed) {
      // If it is woken during a round, the next round begins at once.
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      try {
        await this.inTurn(() => this.#timedRound())
      } catch (error) {
        failed(error)
      }
      await Promise.race([schedule.sleep(this.#restMs()), woken])
    }
  }

  #restMs(): number {
    const places = [...this.#live.values()].reduce((sum, live) => sum + windowOf(live), 0)
    return this.#rest.after({ places, at: this.#ports.clock.ticks() })
  }

  /** Asks members to take their jobs. A member that no longer takes its job is left out. */
  async #enlist(live: LiveDeployment): Promise<void> {
    const { deployment, members } = live
    if (isFinalStatus(deployment.status)) return
    const next = membersFrom(members, live.enlisted, LIMITS.otaEnlistedAtOnce)
    await eachAtOnce(next, LIMITS.otaRequestsAtOnce, ({ deviceId, stage }) =>
      this.#submit(deviceId, { kind: 'ota_enlist', plan: planOf(deployment, stage) }),
    )
    live.enlisted += next.length
    if (next.length > 0) this.#wake()
  }

  /** Tells those devices that can still stop that the deployment has stopped. */
  async #stop({ deployment, count }: Pick<LiveDeployment, 'deployment' | 'count'>): Promise<void> {
    const { status, statusReason } = deployment
    const isOver = isFinalStatus(status) || status === 'rolling_back'
    if (!isOver || count.stoppable.length === 0) return
    const code = status === 'cancelled' ? 'CANCELLED' : (statusReason ?? status).toUpperCase()
    await eachAtOnce(count.stoppable, LIMITS.otaRequestsAtOnce, (deviceId) =>
      this.#submit(deviceId, { kind: 'ota_cancel', deploymentId: deployment.id, code }),
    )
  }

  async #giveNew(live: readonly LiveDeployment[], now: Millis): Promise<void> {
    const running = live
      .toSorted((a, b) => a.deployment.createdAt - b.deployment.createdAt)
      .map(
        (each): RunningDeployment => ({
          deployment: each.deployment,
          count: withScope(each),
          window: windowOf(each),
          startsLeft: each.pace.startsLeft(now),
        }),
      )
    const { grants, heldByFamily } = planGrants(running, { downloadsMax: this.#ports.downloadsMax, now })
    const waiting = grouped(heldByFamily, ({ deploymentId }) => deploymentId)
    for (const each of live)
      each.heldByFamily = new Set(waiting.get(each.deployment.id)?.map(({ deviceId }) => deviceId))
    if (grants.length === 0) return
    const { store, claims } = this.#ports
    // Replaces the previous grants, which have all been answered.
    await store.save({ ...NO_SAVE, claims, documents: [grantsDocument(grants)] })
    this.#grants = grants
    this.#rest.gave(grants.length)
    this.#note(rollbackEntries(grants))
    await this.#giveOut()
  }

  async #giveOut(): Promise<void> {
    await eachAtOnce(this.#grants, LIMITS.otaRequestsAtOnce, (grant) => this.#give(grant))
    // The jobs began before their grants were answered, so the minute of each ends no earlier than this.
    const now = this.#ports.clock.now()
    for (const { deploymentId, kind } of this.#grants)
      if (kind === 'start') this.#live.get(deploymentId)?.pace.started(now)
    this.#grants = []
  }

  #give({ deploymentId, deviceId, kind, number, notAfter, version }: Grant): Promise<RequestOutcome> {
    const { store, firmwares } = this.#ports
    const goalBack = () => goalOf(firmwares.all(), store.devices.get(deviceId)?.type, version)
    const request: DeviceRequest =
      kind === 'start'
        ? { kind: 'ota_grant', deploymentId, number, notAfter }
        : { kind: 'ota_roll_back', deploymentId, goal: goalBack() }
    return this.#submit(deviceId, request)
  }

  #submit(deviceId: DeviceId, request: DeviceRequest): Promise<RequestOutcome> {
    return this.#ports.submit(deviceId, request, { by: OTA_AUTHOR })
  }

  async #save(deployments: readonly Deployment[]): Promise<void> {
    const { store, claims } = this.#ports
    await store.save({ ...NO_SAVE, claims, documents: deployments.map(deploymentDocument) })
    const entries: AuditEntry[] = []
    for (const deployment of deployments) {
      const live = this.#live.get(deployment.id)
      const entry = live && abortEntry(live.deployment, deployment)
      if (entry !== undefined) entries.push(entry)
      if (live !== undefined) live.deployment = deployment
      if (deployment.finishedAt === undefined) continue
      this.#live.delete(deployment.id)
      this.#past.keep(deployment)
    }
    this.#note(entries)
  }

  /** Adds entries to the audit. If that fails, the decisions stand all the same. */
  #note(entries: readonly AuditEntry[]): void {
    if (entries.length > 0) this.#ports.record(entries).catch((error: unknown) => this.#ports.failed(error))
  }

  /** Forgets deployments that finished longer ago than the retention time. */
  async #forget(now: Millis): Promise<void> {
    const old = this.#past
      .all()
      .filter(({ finishedAt }) => finishedAt !== undefined && finishedAt + this.#ports.retentionMs <= now)
    if (old.length === 0) return
    const { store, claims } = this.#ports
    await store.save({ ...NO_SAVE, claims, documents: old.flatMap(({ id }) => documentRemovals(id)) })
    for (const { id } of old) this.#past.forget(id)
  }
}

/** Resolves once all work has ended, even if some of it fails. */
async function allEnded(work: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(work))
    if (outcome.status === 'rejected') throw outcome.reason
}
