// Rollups: hour by hour recomputed from raw, some minutes after the hour is over, and again where late points came.
//
// T1. A new horizon is announced first; then all rows received before are stored; only then is it computed. So a
//     point of a settled hour is either in the computation or marked late.
// T2. A mark made while its hour is being recomputed stays.
import type { DeviceId, Millis } from '../../../schemas/ids.ts'
import { Millis as toMillis } from '../../../schemas/ids.ts'
import type { Clock } from '../../ports/clock.ts'
import { type LateHour, NO_SAVE, type Store } from '../../ports/store.ts'
import type { Telemetry } from '../../ports/telemetry.ts'

const HOUR_MS = 3_600_000
/** How long after its end an hour is settled: most late points are less late than this. */
const GRACE_MS = 300_000
const HORIZON = 'rollup_horizon'
const LATE_HOURS_PER_ROUND = 1_000

export interface SettlerPorts {
  readonly store: Pick<Store, 'getFact' | 'putFact' | 'lateHours' | 'clearLate' | 'save'>
  readonly telemetry: Pick<Telemetry, 'isUp' | 'horizon' | 'settle'>
  readonly clock: Clock
}

export class Settler {
  readonly #ports: SettlerPorts
  readonly #flush: () => Promise<void>
  readonly #late = new Map<DeviceId, Set<number>>()
  #again: Set<string> | undefined
  #announced: Millis
  #isRunning = false

  constructor(ports: SettlerPorts, flush: () => Promise<void>) {
    this.#ports = ports
    this.#flush = flush
    // ClickHouse may not be there yet to say how far it got; it was never further than was announced.
    this.#announced = toMillis(Number(ports.store.getFact(HORIZON) ?? 0))
    this.mark(ports.store.lateHours())
  }

  /** Telemetry before this is marked late from now on. */
  horizon(): Millis {
    return toMillis(Math.max(this.#ports.telemetry.horizon(), this.#announced))
  }

  mark(hours: readonly LateHour[]): void {
    for (const { deviceId, hour } of hours) {
      const known = this.#late.get(deviceId)
      if (known === undefined) this.#late.set(deviceId, new Set([hour]))
      else known.add(hour)
      this.#again?.add(`${deviceId} ${hour}`)
    }
  }

  lateHours(deviceId: DeviceId): readonly number[] {
    return [...(this.#late.get(deviceId) ?? [])]
  }

  /** One round, if one is due. A `Fault` leaves everything to the next round. */
  async settle(): Promise<void> {
    const due = toMillis(Math.floor((this.#ports.clock.now() - GRACE_MS) / HOUR_MS) * HOUR_MS)
    const isBehind = due > this.#ports.telemetry.horizon()
    if (this.#isRunning || !this.#ports.telemetry.isUp() || (!isBehind && this.#late.size === 0)) return
    this.#isRunning = true
    this.#again = new Set()
    try {
      if (due > this.#announced) await this.#announce(due)
      const late = this.#take()
      await this.#flush()
      await this.#ports.telemetry.settle(this.#announced, late)
      const again = this.#again
      const done = late.filter(({ deviceId, hour }) => !again.has(`${deviceId} ${hour}`))
      await this.#ports.store.clearLate(done)
      // Marked while that was written: the mark may have been saved before it, and be cleared with it.
      const lost = done.filter(({ deviceId, hour }) => again.has(`${deviceId} ${hour}`))
      if (lost.length > 0) await this.#ports.store.save({ ...NO_SAVE, late: lost })
      for (const { deviceId, hour } of done)
        if (!again.has(`${deviceId} ${hour}`)) this.#clear(deviceId, hour)
    } finally {
      this.#again = undefined
      this.#isRunning = false
    }
  }

  async #announce(due: Millis): Promise<void> {
    await this.#ports.store.putFact(HORIZON, String(due))
    this.#announced = due
  }

  #take(): readonly LateHour[] {
    const taken: LateHour[] = []
    for (const [deviceId, hours] of this.#late) {
      for (const hour of hours) {
        if (taken.length === LATE_HOURS_PER_ROUND) return taken
        taken.push({ deviceId, hour })
      }
    }
    return taken
  }

  #clear(deviceId: DeviceId, hour: number): void {
    const hours = this.#late.get(deviceId)
    hours?.delete(hour)
    if (hours?.size === 0) this.#late.delete(deviceId)
  }
}
