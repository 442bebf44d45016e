// Rollups: each hour is computed from raw data some minutes after its end, and again if late points came. One node does it
// for all.
//
// - A new horizon is first announced; then all rows received before are stored; only then are rollups computed. So a point
//   of a settled hour is either in the computation or marked late.
// T2. Marks of late hours are taken before these are computed, so that points which come meanwhile mark them again. Taken
//     hours are kept aside until they are computed, count as late until then, and are inherited by the next leader.
import type { DeviceId, Millis } from '../../../schemas/ids.ts'
import { Millis as toMillis } from '../../../schemas/ids.ts'
import { hoursWithin } from '../../domain/telemetry/late-hours.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Claim, Facts, LateHour, LateHours } from '../../ports/store.ts'
import type { Telemetry } from '../../ports/telemetry.ts'

const HOUR_MS = 3_600_000
/** How long after its end an hour is settled. Most late points are less late than this. */
const GRACE_MS = 300_000
const HORIZON_FACT = 'rollup_horizon'
const TAKEN_HOURS_FACT = 'rollup_late'
const NOTHING = '[]'
const LATE_HOURS_PER_ROUND = 1_000

interface Span {
  readonly from: number
  readonly to: number
}

export interface SettlerPorts {
  readonly store: Facts & LateHours
  readonly telemetry: Pick<Telemetry, 'isUp' | 'horizon' | 'settle'>
  readonly clock: Clock
  /** Resolves once all rows received before are stored, and everything received from now on knows the horizon. */
  readonly flush: (horizon: Millis) => Promise<void>
  /** The leader's claims, under which it writes: a leader that was paused must not undo what the next one has done. */
  readonly claims: () => readonly Claim[]
  /** Whether this node settles rollups for all nodes. */
  readonly isLeading: () => boolean
}

export class Settler {
  readonly #ports: SettlerPorts
  #announcedHorizon = toMillis(0)
  #isRunning = false
  /** The text of the fact `rollup_late` as last read. `#taken` is what it contains. */
  #takenText: string | undefined
  #taken: readonly LateHour[] = []

  constructor(ports: SettlerPorts) {
    this.#ports = ports
    this.readHorizon()
  }

  /** Telemetry before this instant is marked late. */
  horizon(): Millis {
    return toMillis(Math.max(this.#ports.telemetry.horizon(), this.#announcedHorizon))
  }

  /** Called when the leading node announces a new horizon. */
  raiseHorizon(horizon: Millis): void {
    if (horizon > this.#announcedHorizon) this.#announcedHorizon = horizon
  }

  /** Reads what was announced before. ClickHouse was never further than that. A horizon in the future was announced with a
   *  wrong clock and would make all telemetry late until then. */
  readHorizon(): void {
    const saved = toMillis(Number(this.#ports.store.getFact(HORIZON_FACT) ?? 0))
    if (saved <= this.#ports.clock.now() + HOUR_MS) this.raiseHorizon(saved)
  }

  /** Late hours of these devices, or of all, within a span of time. */
  lateHours(deviceIds: readonly DeviceId[] | undefined, span: Span): readonly number[] {
    const { store } = this.#ports
    if (deviceIds === undefined) return hoursWithin([...store.lateHours(), ...this.#readTaken()], span)
    const taken = this.#readTaken()
    const asked = new Set(taken.length === 0 ? [] : deviceIds)
    const marks = deviceIds.flatMap((id) => store.lateHoursOf(id))
    return hoursWithin([...marks, ...taken.filter(({ deviceId }) => asked.has(deviceId))], span)
  }

  /** Settles once if it is time. After a `Fault`, everything is left to the next round. */
  async settle(): Promise<void> {
    const { telemetry, isLeading } = this.#ports
    if (this.#isRunning || !telemetry.isUp() || !isLeading()) return
    this.#isRunning = true
    try {
      await this.#settle()
    } finally {
      this.#isRunning = false
    }
  }

  async #settle(): Promise<void> {
    const { store, telemetry, clock, flush, isLeading } = this.#ports
    const claims = this.#ports.claims()
    this.readHorizon()
    const due = toMillis(Math.floor((clock.now() - GRACE_MS) / HOUR_MS) * HOUR_MS)
    const isLate = store.lateHours().length + this.#readTaken().length > 0
    if (due <= telemetry.horizon() && !isLate) return
    if (due > this.#announcedHorizon) {
      await store.putFact(HORIZON_FACT, String(due), claims)
      this.raiseHorizon(due)
    }
    const late = await this.#take(claims)
    await flush(this.#announcedHorizon)
    if (!isLeading()) return
    await telemetry.settle(this.#announcedHorizon, late)
    if (late.length > 0) await store.putFact(TAKEN_HOURS_FACT, NOTHING, claims)
  }

  /** Takes the marks of late hours and keeps them aside (T2). */
  async #take(claims: readonly Claim[]): Promise<readonly LateHour[]> {
    const { store } = this.#ports
    const before = this.#readTaken()
    const fresh = store.lateHours().slice(0, LATE_HOURS_PER_ROUND - before.length)
    if (fresh.length === 0) return before
    const taken = [...new Map([...before, ...fresh].map((late) => [keyOf(late), late])).values()]
    await store.putFact(
      TAKEN_HOURS_FACT,
      JSON.stringify(taken.map(({ deviceId, hour, until }) => [deviceId, hour, until])),
      claims,
    )
    await store.clearLate(fresh, claims)
    return taken
  }

  #readTaken(): readonly LateHour[] {
    const text = this.#ports.store.getFact(TAKEN_HOURS_FACT) ?? NOTHING
    if (text === this.#takenText) return this.#taken
    // Written by `#take`.
    const marks = JSON.parse(text) as readonly (readonly [DeviceId, number, (number | null)?])[]
    this.#takenText = text
    this.#taken = marks.map(([deviceId, hour, until]) => ({ deviceId, hour, ...(until && { until }) }))
    return this.#taken
  }
}

function keyOf({ deviceId, hour, until }: LateHour): string {
  return `${deviceId} ${hour} ${until ?? ''}`
}
