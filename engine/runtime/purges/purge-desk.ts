// The leader's service for purges. Everything about a device is removed, in steps that can all be repeated.
//
// - A purge is saved before its first step and removed after its last, so the next leader continues it.
// - The device's record goes last. Until then the device is decommissioned, so its id cannot be registered again, and no
//   new rows come.
// - `createdAt` tells the device from a later one with the same id, which repeated steps must leave alone.
import { type DeviceId, Millis } from '../../../schemas/ids.ts'
import type { DeviceRequest } from '../../domain/device/events.ts'
import { newPackr } from '../../domain/packing.ts'
import { LIMITS } from '../../limits.ts'
import type { Broker } from '../../ports/broker.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Authorship, PurgeOutcome, RequestOutcome } from '../../ports/engine.ts'
import { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { type Claim, NO_SAVE, type Store } from '../../ports/store.ts'
import type { Telemetry } from '../../ports/telemetry.ts'

export interface Purge {
  readonly deviceId: DeviceId
  readonly createdAt: Millis
  /** Judged until the device is decommissioned, because the first step may not be answered. */
  readonly ifRevision?: number | undefined
  readonly signed: Authorship
}

export interface PurgePorts {
  readonly store: Pick<Store, 'save' | 'documents' | 'oldestHistory'>
  readonly claims: readonly Claim[]
  readonly telemetry: Pick<Telemetry, 'forget'>
  readonly clock: Pick<Clock, 'now'>
  readonly schedule: Pick<Schedule, 'every' | 'sleep'>
  readonly submit: (deviceId: DeviceId, request: DeviceRequest, signed: Authorship) => Promise<RequestOutcome>
  readonly broker: Pick<Broker, 'free'>
  /** Resolves once all rows of messages received before are stored. */
  readonly flush: () => Promise<void>
  /** Called once nothing is left of the device. */
  readonly gone: (deviceId: DeviceId) => void
  readonly failed: (error: unknown) => void
}

const PURGES = 'purges'
const packr = newPackr()

export class PurgeDesk {
  readonly #ports: PurgePorts
  readonly #purges = new Map<DeviceId, Purge>()
  #roundWaiters: (() => void)[] = []
  #stop: (() => void) | undefined
  #isWorking = false

  constructor(ports: PurgePorts) {
    this.#ports = ports
  }

  async open(): Promise<void> {
    for (const { bytes } of await this.#ports.store.documents.list(PURGES)) {
      // Written by `#save`.
      const purge = packr.unpack(bytes) as Purge
      this.#purges.set(purge.deviceId, purge)
    }
    this.#stop?.()
    this.#stop = this.#ports.schedule.every(LIMITS.purgeEveryMs, () => void this.#work())
  }

  close(): void {
    this.#stop?.()
    this.#stop = undefined
  }

  /** Resolves once the device is gone, or after a while with its view so far. */
  async purge(purge: Purge): Promise<PurgeOutcome> {
    const { deviceId, signed } = purge
    if (!this.#purges.has(deviceId) && this.#purges.size >= LIMITS.purgesMax)
      return { kind: 'refused', code: 'LIMIT_REACHED', detail: { limit: LIMITS.purgesMax } }
    await this.#save(purge, packr.pack(purge))
    const submitted = await this.#decommission(purge).catch((error: unknown) => {
      // The purge is saved, so it goes on, and the caller may ask again.
      this.#purges.set(deviceId, purge)
      throw error
    })
    if (submitted.kind === 'refused') {
      await this.#removePurge(purge)
      return submitted
    }
    this.#purges.set(deviceId, { ...purge, signed: { by: signed.by } })
    void this.#work()
    const until = this.#ports.clock.now() + LIMITS.purgeWaitMs
    while (this.#purges.has(deviceId) && this.#ports.clock.now() < until) await this.#waitForRound(until)
    return { kind: 'done', view: submitted.view, isOver: !this.#purges.has(deviceId) }
  }

  /** Waits for the end of a round, but no longer than `until`. */
  #waitForRound(until: number): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      this.#roundWaiters.push(resolve)
    })
    return Promise.race([ended, this.#ports.schedule.sleep(until - this.#ports.clock.now())])
  }

  /** One round over all open purges. Never rejects. */
  async #work(): Promise<void> {
    if (this.#isWorking || this.#purges.size === 0 || this.#stop === undefined) return
    this.#isWorking = true
    try {
      await this.#round([...this.#purges.values()].slice(0, LIMITS.purgesAtOnceMax))
    } catch (error) {
      // The next round tries again.
      if (!(error instanceof Fault && error.retryable)) this.#ports.failed(error)
    } finally {
      this.#isWorking = false
      for (const resolve of this.#roundWaiters.splice(0)) resolve()
    }
  }

  async #round(purges: readonly Purge[]): Promise<void> {
    const { broker, clock } = this.#ports
    const decommissioned: Purge[] = []
    let at = clock.now()
    const failed = await runForAll(purges, async (purge) => {
      const again = await this.#decommission(purge)
      if (again.kind === 'done') {
        decommissioned.push(purge)
        // The owner's clock may be ahead of this one.
        at = Millis(Math.max(at, again.view.device.statusSince))
      } else {
        // The record is gone, but the leader that removed it may have died before it told the broker. A device that was
        // edited before its first step arrived stays, and so does its id.
        if (again.code !== 'PRECONDITION_FAILED') await broker.free(purge.deviceId)
        await this.#removePurge(purge)
      }
    })
    if (decommissioned.length > 0) failed.push(...(await this.#forget(decommissioned, at)))
    // Thrown only after the others are through.
    if (failed.length > 0) throw failed[0]
  }

  /** The first step. A device that is decommissioned already is not changed by it. */
  #decommission({ deviceId, createdAt, ifRevision, signed }: Purge): Promise<RequestOutcome> {
    const request = { kind: 'decommission', reason: 'purged', createdAt, ifRevision } as const
    return this.#ports.submit(deviceId, request, signed)
  }

  /** Removes what is left of devices that were decommissioned until `at`. Resolves with the errors. */
  async #forget(decommissioned: readonly Purge[], at: Millis): Promise<readonly unknown[]> {
    const { flush, telemetry, submit, broker } = this.#ports
    await flush()
    await this.#waitForHistory(at)
    await telemetry.forget(decommissioned.map(({ deviceId }) => deviceId))
    return await runForAll(decommissioned, async (purge) => {
      const { deviceId, createdAt, signed } = purge
      await submit(deviceId, { kind: 'purge', createdAt }, signed)
      await broker.free(deviceId)
      await this.#removePurge(purge)
    })
  }

  /** Waits until the history up to the end of this millisecond has left the outbox. */
  async #waitForHistory(at: Millis): Promise<void> {
    const { store, schedule, clock } = this.#ports
    for (const until = clock.now() + LIMITS.purgeOutboxMs; ; ) {
      const oldest = await store.oldestHistory()
      if (oldest === undefined || oldest >= (at + 1) * 1_000) return
      if (clock.now() >= until || this.#stop === undefined)
        throw new Fault('TELEMETRY_UNAVAILABLE', {
          retryable: true,
          message: 'rows of the history wait for ClickHouse, and the purges with them',
        })
      await schedule.sleep(LIMITS.purgeLookMs)
    }
  }

  async #removePurge(purge: Purge): Promise<void> {
    const current = this.#purges.get(purge.deviceId)
    // A later device with the same id may be purged by now.
    if (current !== undefined && current.createdAt !== purge.createdAt) return
    await this.#save(purge, undefined)
    this.#purges.delete(purge.deviceId)
    this.#ports.gone(purge.deviceId)
  }

  async #save({ deviceId }: Purge, bytes: Uint8Array | undefined): Promise<void> {
    const { store, claims } = this.#ports
    await store.save({ ...NO_SAVE, claims, documents: [{ collection: PURGES, id: deviceId, bytes }] })
  }
}

/** Runs a step for all purges at the same time. Resolves with the errors once all have ended. */
async function runForAll(
  purges: readonly Purge[],
  step: (purge: Purge) => Promise<void>,
): Promise<unknown[]> {
  const outcomes = await Promise.allSettled(purges.map(step))
  return outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
}
