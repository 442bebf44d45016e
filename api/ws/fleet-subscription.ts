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
export interface FleetTick {
  readonly table: FleetTable
  readonly ts: string
  /** Changed visible rows after `from`, including those that ceased to be visible. */
  changes(rowFilter: RowFilter, from: number): readonly number[]
  /** The same changes as pieces. */
  shared(rowFilter: RowFilter, from: number): readonly DeltaPiece[]
  pieces(rowFilter: RowFilter, places: readonly number[], since: number): readonly DeltaPiece[]
  valuesVersion(): number
  changedValues(rowFilter: RowFilter, metrics: readonly string[], from: number): readonly number[]
  valuePieces(
    rowFilter: RowFilter,
    metrics: readonly string[],
    places: readonly number[],
  ): readonly DeltaPiece[]
  /** JSON of `fleet.stats`. */
  stats(rowFilter: RowFilter, scope: Scope): string
}

/** What a subscription currently sees. Subscriptions with equal keys see the same. */
export interface RowFilter {
  readonly key: string
  readonly fits: (row: FleetPlacing, place: number) => boolean
  /** Undefined means all. */
  readonly deviceIds: readonly DeviceId[] | undefined
}

const DIRTY_ROWS_AT_ONCE = 20_000

export class FleetSubscription {
  readonly id: string
  readonly channel = 'fleet'
  readonly userId: string
  readonly owner: Subscriber
  readonly throttleMs: number
  readonly metrics: readonly string[]
  readonly deviceIds: readonly DeviceId[] | undefined
  /** Equal for equal filters. Undefined if the filter names devices. */
  readonly filterKey: string | undefined
  readonly #filter: SocketFilter
  readonly #rows = new DirtyRows()
  readonly #values = new DirtyRows()
  #rowFilter: RowFilter | undefined
  #sentVersion = 0
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
    this.filterKey = named === undefined ? questionKey(this.#filter) : undefined
  }

  /** Starts events: the client has the index as of this version, or will have. */
  release(version: number): void {
    this.#sentVersion = version
    this.isReleased = true
  }

  /** Sends all pending changes of rows and values to the client. */
  sendChanges(tick: FleetTick, scope: Scope): void {
    const { table } = tick
    const rowFilter = this.#currentFilter(table, scope)
    if (rowFilter === undefined || !table.reachesBack(this.#sentVersion)) {
      this.#requestResync(table.version)
      return
    }
    this.#sendRows(tick, rowFilter)
    if (this.metrics.length > 0) this.#sendValues(tick, rowFilter)
  }

  sendStats(tick: FleetTick, scope: Scope): void {
    const rowFilter = this.#currentFilter(tick.table, scope)
    if (rowFilter !== undefined) this.#offer('fleet.stats', tick.stats(rowFilter, scope), tick.ts)
  }

  close(): void {
    this.#rows.clear()
    this.#values.clear()
  }

  #sendRows(tick: FleetTick, rowFilter: RowFilter): void {
    const from = this.#sentVersion
    this.#sentVersion = tick.table.version
    const isBehind = this.#rows.count > 0
    if (!isBehind) this.#behindSince = from
    if (isBehind || !this.owner.outbox.hasRoom()) this.#rows.add(tick.changes(rowFilter, from))
    if (!this.owner.outbox.hasRoom()) return
    if (!isBehind) {
      this.#sendPieces(tick.shared(rowFilter, from), { pending: this.#rows, ts: tick.ts })
      return
    }
    this.#sendPieces(tick.pieces(rowFilter, firstRows(this.#rows), this.#behindSince), {
      pending: this.#rows,
      ts: tick.ts,
    })
    if (this.#rows.count === 0) this.#reportConflated()
  }

  #sendValues(tick: FleetTick, rowFilter: RowFilter): void {
    const changed = tick.changedValues(rowFilter, this.metrics, this.#valuesVersion)
    this.#valuesVersion = tick.valuesVersion()
    const isBehind = this.#values.count > 0
    if (isBehind || !this.owner.outbox.hasRoom()) this.#values.add(changed)
    if (!this.owner.outbox.hasRoom()) return
    const places = isBehind ? firstRows(this.#values) : changed
    if (places.length === 0) return
    this.#sendPieces(tick.valuePieces(rowFilter, this.metrics, places), {
      pending: this.#values,
      ts: tick.ts,
    })
  }

  /** Pieces that the client has no room for are remembered as dirty rows. */
  #sendPieces(
    pieces: readonly DeltaPiece[],
    { pending, ts }: { readonly pending: DirtyRows; readonly ts: string },
  ): void {
    const wasBehind = pending.count > 0
    let hasRoom = true
    for (const { data, places } of pieces) {
      hasRoom &&= this.#offer('fleet.delta', data, ts)
      if (hasRoom) pending.remove(places)
      else if (!wasBehind) pending.add(places)
    }
  }

  #reportConflated(): void {
    const dropped = this.#rows.conflated
    if (dropped > 0 && this.owner.outbox.offer(frameText({ type: 'resync', id: this.id, dropped })))
      this.#rows.conflated = 0
  }

  /** Tells the client to read the index again. */
  #requestResync(version: number): void {
    const dropped = this.#rows.count + this.#rows.conflated
    if (!this.owner.outbox.offer(frameText({ type: 'resync', id: this.id, dropped }))) return
    this.#rows.clear()
    this.#values.clear()
    this.#rowFilter = undefined
    this.#sentVersion = version
    this.#valuesVersion = 0
  }

  #offer(event: FleetFrame['event'], data: string, ts: string): boolean {
    const head = `{"type":"event","id":${JSON.stringify(this.id)},"seq":${this.#seq + 1},"ts":"${ts}"`
    if (!this.owner.outbox.offer(`${head},"channel":"fleet","event":"${event}","data":${data}}`)) return false
    this.#seq++
    return true
  }

  /** Undefined if the user may now see another part of the fleet. */
  #currentFilter(table: FleetTable, scope: Scope): RowFilter | undefined {
    const { group, type, tag } = this.#filter
    const question: FleetQuestion = { group, type, tag, within: scope.groups }
    const key = `${questionKey(question)} ${this.deviceIds?.join() ?? '*'}`
    if (this.#rowFilter?.key === key) return this.#rowFilter
    if (this.#rowFilter !== undefined) return undefined
    this.#rowFilter = { key, fits: this.#matcher(question, table), deviceIds: this.deviceIds }
    return this.#rowFilter
  }

  #matcher(question: FleetQuestion, table: FleetTable): RowFilter['fits'] {
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
function firstRows(rows: DirtyRows): readonly number[] {
  const places: number[] = []
  for (const place of rows) {
    places.push(place)
    if (places.length >= DIRTY_ROWS_AT_ONCE) break
  }
  return places
}
