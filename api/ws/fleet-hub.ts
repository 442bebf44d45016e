// Sends changes to all subscriptions of the channel `fleet`, a few times a second. Subscriptions that see the same rows and
// are equally up to date share their frames, so a hundred pages cost little more than one.
//
// - Nothing runs while nobody is subscribed. The cost of a round depends on the changes, not on messages of devices.

import { chunks } from '../../engine/domain/chunks.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import { Fault } from '../../engine/ports/fault.ts'
import type { FleetPort, FleetTable } from '../../engine/ports/fleet.ts'
import { toIso } from '../../schemas/ids.ts'
import { type DeltaPiece, toDeltaPieces } from './fleet-delta.ts'
import { fleetStats, RateMeter, type Rates } from './fleet-stats.ts'
import type { FleetSubscription, FleetTick, RowFilter } from './fleet-subscription.ts'
import { FleetValues } from './fleet-values.ts'

export interface FleetHubPorts {
  readonly fleet: FleetPort
  readonly clock: Clock
  readonly limits: {
    readonly fleetFrameDevicesMax: number
    readonly fleetLookBackMs: number
    readonly fleetStatsEveryMs: number
    readonly fleetMetricsMax: number
    readonly fleetFiltersPerUserMax: number
    readonly fleetOrderMs: number
  }
  /** Called with errors that are not a temporary failure of a part of the service. */
  readonly failed: (error: unknown) => void
}

export class FleetHub {
  readonly #ports: FleetHubPorts
  readonly #subscriptions = new Set<FleetSubscription>()
  readonly #dueAt = new Map<FleetSubscription, number>()
  readonly #values: FleetValues
  readonly #meter = new RateMeter()
  #rates: Rates = { messagesPerSec: 0, pointsPerSec: 0, lagMs: 0 }
  #statsDueAt = 0
  #stop: (() => void) | undefined

  constructor(ports: FleetHubPorts) {
    this.#ports = ports
    this.#values = new FleetValues(ports.fleet)
  }

  /** Whether the metrics of one more subscription are within the limit. */
  hasRoomFor(metrics: readonly string[]): boolean {
    return new Set([...this.#metrics(), ...metrics]).size <= this.#ports.limits.fleetMetricsMax
  }

  /** Whether the user may have this filter, too. Undefined is a filter that names devices, which costs little. */
  hasRoomForFilter(userId: string, filterKey: string | undefined): boolean {
    if (filterKey === undefined) return true
    const keys = new Set<string | undefined>()
    for (const known of this.#subscriptions) if (known.userId === userId) keys.add(known.filterKey)
    keys.delete(undefined)
    return keys.has(filterKey) || keys.size < this.#ports.limits.fleetFiltersPerUserMax
  }

  /** Resolves once every change that an index read from now on may lack is certain to be sent. */
  async add(subscription: FleetSubscription): Promise<void> {
    const { fleet, clock, limits } = this.#ports
    this.#subscriptions.add(subscription)
    this.#dueAt.set(subscription, nextOn(clock.ticks(), subscription.throttleMs))
    this.#stop ??= fleet.watch((table) => this.#tick(table))
    await fleet.table()
    subscription.release(fleet.versionBefore(limits.fleetLookBackMs))
  }

  remove(subscription: FleetSubscription): void {
    this.#subscriptions.delete(subscription)
    this.#dueAt.delete(subscription)
    if (this.#subscriptions.size === 0) this.close()
  }

  close(): void {
    this.#stop?.()
    this.#stop = undefined
  }

  #tick(table: FleetTable): void {
    const { clock, limits } = this.#ports
    const now = clock.ticks()
    const isStatsDue = now >= this.#statsDueAt
    if (isStatsDue) {
      this.#statsDueAt = nextOn(now, limits.fleetStatsEveryMs)
      this.#rates = this.#meter.sample(table, now)
      this.#queryValues(table)
    }
    const tick = this.#toTick(table)
    for (const subscription of this.#subscriptions) {
      const scope = subscription.owner.scopeNow()
      if (scope === undefined || !subscription.isReleased) continue
      if (now >= (this.#dueAt.get(subscription) ?? 0)) {
        this.#dueAt.set(subscription, nextOn(now, subscription.throttleMs))
        subscription.sendChanges(tick, scope)
      }
      if (isStatsDue) subscription.sendStats(tick, scope)
    }
  }

  #metrics(): readonly string[] {
    return [...new Set([...this.#subscriptions].flatMap(({ metrics }) => metrics))]
  }

  #queryValues(table: FleetTable): void {
    const metrics = this.#metrics()
    if (metrics.length === 0) return
    const withMetrics = [...this.#subscriptions].filter((subscription) => subscription.metrics.length > 0)
    const isBroad = withMetrics.some(({ deviceIds }) => deviceIds === undefined)
    const deviceIds = isBroad
      ? undefined
      : [...new Set(withMetrics.flatMap((subscription) => subscription.deviceIds ?? []))]
    const now = this.#ports.clock.now()
    this.#values.query(table, { metrics, deviceIds, now }).catch((error: unknown) => {
      // The next attempt follows in a second.
      if (!(error instanceof Fault && error.retryable)) this.#ports.failed(error)
    })
  }

  #toTick(table: FleetTable): FleetTick {
    const { fleet, clock, limits } = this.#ports
    const values = this.#values
    const at = clock.now()
    const orderVersion = fleet.versionBefore(limits.fleetOrderMs)
    const changed = memo((from: number) => table.changedSince(from))
    const moves = memo((from: number) => table.movedSince(from))
    const changes = (rowFilter: RowFilter, from: number) =>
      changesIn(rowFilter, { table, changed: changed(from), moves: moves(from) })
    const pieces = (rowFilter: RowFilter, places: readonly number[], since: number) =>
      toDeltaPieces({
        ...{ table, places, fits: rowFilter.fits, devicesMax: limits.fleetFrameDevicesMax },
        since: Math.min(since, orderVersion),
      })
    const shared = new Map<string, readonly DeltaPiece[]>()
    const statistics = new Map<string, string>()
    return {
      table,
      ts: toIso(at),
      changes,
      pieces,
      shared: (rowFilter, from) =>
        getOrCreate(shared, `${from} ${rowFilter.key}`, () =>
          pieces(rowFilter, changes(rowFilter, from), from),
        ),
      valuesVersion: () => values.version,
      changedValues: (rowFilter, metrics, from) =>
        values.changedSince(metrics, from).filter((place) => isVisible(rowFilter, table, place)),
      valuePieces: (rowFilter, metrics, places) =>
        [
          ...chunks(
            places.filter((place) => isVisible(rowFilter, table, place)),
            limits.fleetFrameDevicesMax,
          ),
        ].map((chunk) => valuePiece(table, chunk, metrics, values)),
      stats: (rowFilter, scope) =>
        getOrCreate(statistics, `${scope.role} ${rowFilter.key}`, () => {
          const about = { scope, rates: this.#rates, deploymentsActive: fleet.deploymentsActive(), now: at }
          return JSON.stringify(fleetStats(table, visiblePlaces(rowFilter, table), about))
        }),
    }
  }
}

/** The next instant shared by all subscriptions with this interval, so that they are served together. */
function nextOn(now: number, intervalMs: number): number {
  return Math.floor(now / intervalMs + 1) * intervalMs
}

function changesIn(
  { fits }: RowFilter,
  about: {
    readonly table: FleetTable
    readonly changed: readonly number[]
    readonly moves: ReturnType<FleetTable['movedSince']>
  },
): readonly number[] {
  const { table, changed, moves } = about
  return changed.filter((place) => {
    const row = table.rows[place]
    if (row !== undefined && fits(row, place)) return true
    return moves.get(place)?.some((before) => fits(before, place)) ?? false
  })
}

function isVisible({ fits }: RowFilter, table: FleetTable, place: number): boolean {
  const row = table.rows[place]
  return row !== undefined && fits(row, place)
}

function* visiblePlaces(rowFilter: RowFilter, table: FleetTable): Generator<number> {
  const { deviceIds } = rowFilter
  const named = deviceIds?.flatMap((id) => table.placeOf(id) ?? [])
  if (named !== undefined) {
    for (const place of named) if (isVisible(rowFilter, table, place)) yield place
    return
  }
  for (let place = 0; place < table.size; place++) if (isVisible(rowFilter, table, place)) yield place
}

function valuePiece(
  table: FleetTable,
  places: readonly number[],
  metrics: readonly string[],
  values: FleetValues,
): DeltaPiece {
  const data = {
    device_id: places.map((place) => table.ids[place]),
    rev: places.map(() => 0),
    values: Object.fromEntries(
      metrics.map((metric) => [metric, places.map((place) => values.valueOf(metric, place))]),
    ),
  }
  return { data: JSON.stringify(data), places }
}

function memo<Key, Value>(create: (key: Key) => Value): (key: Key) => Value {
  const cache = new Map<Key, Value>()
  return (key) => getOrCreate(cache, key, () => create(key))
}

function getOrCreate<Key, Value>(cache: Map<Key, Value>, key: Key, create: () => Value): Value {
  const before = cache.get(key)
  if (before !== undefined) return before
  const value = create()
  cache.set(key, value)
  return value
}
