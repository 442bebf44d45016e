// One subscription of the channel `fleet`: which rows it sees, and what its client has received of them.
//
// - The client gets a row in its latest state. While it is slow, only which rows have changed is remembered (`DirtyRows`),
//   and a `resync` says how many changes were merged.
// - If a different part of the fleet becomes visible because the user's groups changed, or too much happened, no delta is
//   sent. Instead a `resync` tells the client to read the index again.
import { type FleetQuestion, fleetJudge, questionKey } from '../../engine/domain/fleet/selection.ts'
import type { FleetPlacing, FleetTable } from '../../engine/ports/fleet.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { type DeviceId, parseDeviceId } from '../../schemas/ids.ts'
import type { FleetFrame, SocketFilter, Subscribe } from '../../schemas/ws.ts'
import { frameText } from '../../schemas/ws.ts'
import { DirtyRows } from './dirty-rows.ts'
import type { DeltaPiece } from './fleet-delta.ts'
import type { Scope, Subscriber } from './subscription.ts'

/** Changes of the table, offered to all subscriptions. Those that see the same rows share their pieces. */
export interface FleetLook {
  readonly table: FleetTable
  readonly ts: string
  /** Changed visible rows after `from`, including those that ceased to be visible. */
  changes(sight: Sight, from: number): readonly number[]
  /** The same changes as pieces. */
  shared(sight: Sight, from: number): readonly DeltaPiece[]
  pieces(sight: Sight, places: readonly number[], since: number): readonly DeltaPiece[]
  valuesVersion(): number
  changedValues(sight: Sight, metrics: readonly string[], from: number): readonly number[]
  valuePieces(sight: Sight, metrics: readonly string[], places: readonly number[]): readonly DeltaPiece[]
  /** JSON of `fleet.stats`. */
  stats(sight: Sight, scope: Scope): string
}

/** What a subscription currently sees. Subscriptions with equal keys see the same. */
export interface Sight {
  readonly key: string
  readonly fits: (row: FleetPlacing, place: number) => boolean
  /** Undefined means all. */
  readonly deviceIds: readonly DeviceId[] | undefined
}

const LATE_ROWS_AT_ONCE = 20_000

export class FleetSubscription {
  readonly id: string
  readonly channel = 'fleet'
  readonly userId: string
  readonly owner: Subscriber
  readonly throttleMs: number
  readonly metrics: readonly string[]
  readonly deviceIds: readonly DeviceId[] | undefined
  readonly #filter: SocketFilter
  readonly #rows = new DirtyRows()
  readonly #values = new DirtyRows()
  #sight: Sight | undefined
  #toldVersion = 0
  #valuesVersion = 0
  /** The version at which the client fell behind. */
  #behindSince = 0
  #seq = 0
  isReleased = false

  constructor(frame: Subscribe, owner: Subscriber, userId: string) {
    this.id = frame.id
    this.owner = owner
    this.userId = userId
    this.#filter = frame.filter ?? {}
    this.metrics = [...new Set(frame.values)]
    const { fleetThrottleMsDefault, fleetValuesThrottleMsMin } = BODY_LIMITS
    this.throttleMs = frame.throttle_ms ?? (frame.values ? fleetValuesThrottleMsMin : fleetThrottleMsDefault)
    const { device_id: one, device_ids: many } = this.#filter
    const named = many ?? (one === undefined ? undefined : [one])
    // The frame's schema accepts only ids.
    this.deviceIds = named && [...new Set(named)].flatMap((id) => parseDeviceId(id) ?? [])
  }

  /** Starts events: the client has the index as of this version, or will have. */
  release(version: number): void {
    this.#toldVersion = version
    this.isReleased = true
  }

  /** Sends all pending changes of rows and values to the client. */
  tell(look: FleetLook, scope: Scope): void {
    const { table } = look
    const sight = this.#look(table, scope)
    if (sight === undefined || !table.reachesBack(this.#toldVersion)) {
      this.#restart(table.version)
      return
    }
    this.#tellRows(look, sight)
    if (this.metrics.length > 0) this.#tellValues(look, sight)
  }

  tellStats(look: FleetLook, scope: Scope): void {
    const sight = this.#look(look.table, scope)
    if (sight !== undefined) this.#offer('fleet.stats', look.stats(sight, scope), look.ts)
  }

  close(): void {
    this.#rows.clear()
    this.#values.clear()
  }

  #tellRows(look: FleetLook, sight: Sight): void {
    const from = this.#toldVersion
    this.#toldVersion = look.table.version
    const isLate = this.#rows.count > 0
    if (!isLate) this.#behindSince = from
    if (isLate || !this.owner.outbox.hasRoom()) this.#rows.add(look.changes(sight, from))
    if (!this.owner.outbox.hasRoom()) return
    if (!isLate) {
      this.#send(look.shared(sight, from), { late: this.#rows, ts: look.ts })
      return
    }
    this.#send(look.pieces(sight, some(this.#rows), this.#behindSince), { late: this.#rows, ts: look.ts })
    if (this.#rows.count === 0) this.#caughtUp()
  }

  #tellValues(look: FleetLook, sight: Sight): void {
    const changed = look.changedValues(sight, this.metrics, this.#valuesVersion)
    this.#valuesVersion = look.valuesVersion()
    const isLate = this.#values.count > 0
    if (isLate || !this.owner.outbox.hasRoom()) this.#values.add(changed)
    if (!this.owner.outbox.hasRoom()) return
    const places = isLate ? some(this.#values) : changed
    if (places.length === 0) return
    this.#send(look.valuePieces(sight, this.metrics, places), { late: this.#values, ts: look.ts })
  }

  /** Pieces that the client has no room for are remembered as dirty rows. */
  #send(
    pieces: readonly DeltaPiece[],
    { late, ts }: { readonly late: DirtyRows; readonly ts: string },
  ): void {
    const wasLate = late.count > 0
    let hasRoom = true
    for (const { data, places } of pieces) {
      hasRoom &&= this.#offer('fleet.delta', data, ts)
      if (hasRoom) late.remove(places)
      else if (!wasLate) late.add(places)
    }
  }

  #caughtUp(): void {
    const dropped = this.#rows.conflated
    if (dropped > 0 && this.owner.outbox.offer(frameText({ type: 'resync', id: this.id, dropped })))
      this.#rows.conflated = 0
  }

  /** Tells the client to read the index again. */
  #restart(version: number): void {
    const dropped = this.#rows.count + this.#rows.conflated
    if (!this.owner.outbox.offer(frameText({ type: 'resync', id: this.id, dropped }))) return
    this.#rows.clear()
    this.#values.clear()
    this.#sight = undefined
    this.#toldVersion = version
    this.#valuesVersion = 0
  }

  #offer(event: FleetFrame['event'], data: string, ts: string): boolean {
    const head = `{"type":"event","id":${JSON.stringify(this.id)},"seq":${this.#seq + 1},"ts":"${ts}"`
    if (!this.owner.outbox.offer(`${head},"channel":"fleet","event":"${event}","data":${data}}`)) return false
    this.#seq++
    return true
  }

  /** Undefined if the user may now see another part of the fleet. */
  #look(table: FleetTable, scope: Scope): Sight | undefined {
    const { group, type, tag } = this.#filter
    const question: FleetQuestion = { group, type, tag, within: scope.groups }
    const key = `${questionKey(question)} ${this.deviceIds?.join() ?? '*'}`
    if (this.#sight?.key === key) return this.#sight
    if (this.#sight !== undefined) return undefined
    this.#sight = { key, fits: this.#judge(question, table), deviceIds: this.deviceIds }
    return this.#sight
  }

  #judge(question: FleetQuestion, table: FleetTable): Sight['fits'] {
    const fits = fleetJudge(question)
    const { deviceIds } = this
    if (deviceIds === undefined) return fits
    const named = new Set(deviceIds)
    return (row, place) => {
      const id = table.ids[place]
      return id !== undefined && named.has(id) && fits(row)
    }
  }
}

/** At most as many rows as a client may take at once. The rest waits for the next round. */
function some(rows: DirtyRows): readonly number[] {
  const places: number[] = []
  for (const place of rows) {
    places.push(place)
    if (places.length >= LATE_ROWS_AT_ONCE) break
  }
  return places
}
