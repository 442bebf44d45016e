// Telemetry in memory. Real adapters must return the same. Everything is computed from raw points. An instance outlives
// the engine that uses it, as a database does.
import { Readable } from 'node:stream'
import { type AlertId, type DeviceId, type Micros, Millis } from '../../../../schemas/ids.ts'
import type { JsonObject } from '../../../../schemas/json.ts'
import type { DeviceStatus } from '../../../../schemas/vocabulary.ts'
import type { FleetMoment } from '../../../domain/fleet/census.ts'
import { byAge } from '../../../domain/history/row.ts'
import { readHistoryBlock } from '../../../domain/history/testing/read-block.ts'
import { type BlockRow, readBlock } from '../../../domain/telemetry/native-reader.ts'
import { LIMITS } from '../../../limits.ts'
import type { AuditFilter, AuditQuery, AuditRow } from '../../../ports/audit.ts'
import { Fault } from '../../../ports/fault.ts'
import type {
  CommandPlace,
  FleetHistoryQuery,
  HistoryFilter,
  HistoryPlace,
  HistoryQuery,
  HistoryRow,
  PastAlerts,
  PastAlertsQuery,
  PastCommand,
  PastCommandsQuery,
} from '../../../ports/history.ts'
import type {
  Block,
  DeviceChoice,
  Export,
  Point,
  PointsQuery,
  Series,
  SeriesQuery,
  Telemetry,
  TrendQuery,
} from '../../../ports/telemetry.ts'
import { MemoryAudit } from './memory-audit.ts'
import { MemoryCensus } from './memory-census.ts'
import { MemoryDevices } from './memory-devices.ts'
import { toFile } from './memory-file.ts'
import { commandSteps, fleetRows, labelOf, pastCommands } from './memory-fleet-history.ts'
import { pastAlerts } from './memory-past-alerts.ts'
import { type TimedPoint, toSeries } from './memory-series.ts'

const HOUR_MS = 3_600_000

interface HeldPoint {
  readonly value: number | string
  readonly version: number
}
type HeldSeries = Map<Micros, HeldPoint>

export class MemoryTelemetry implements Telemetry {
  /** Keyed by device, then by metric. */
  readonly #points = new Map<string, Map<string, HeldSeries>>()
  readonly #texts = new Map<string, Map<string, HeldSeries>>()
  /** Keyed by device, then by the row's key. */
  readonly #history = new Map<string, Map<string, HistoryRow>>()
  readonly #audit = new MemoryAudit()
  readonly #census = new MemoryCensus()
  readonly #devices = new MemoryDevices()
  #horizon = Millis(0)

  async insert(block: Block): Promise<void> {
    if (block.kind === 'audit') {
      this.#audit.insert(parseRows(block))
      return
    }
    if (block.kind === 'devices') {
      this.#devices.insert(block)
      return
    }
    if (block.kind === 'census') {
      // The columns of the history hold other things here, see `domain/fleet/census.ts`.
      this.#census.insert(
        readHistoryBlock(block.bytes).map(({ deviceId, kind, at, version }) => ({
          at: at / 1000,
          group: deviceId,
          status: kind as string as DeviceStatus,
          devices: version,
        })),
      )
      return
    }
    if (block.kind === 'history') {
      // Blocks of the history contain history rows only.
      for (const row of parseRows(block)) this.#remember(row as HistoryRow)
      return
    }
    const read = parse(block)
    if (read.kind === 'points') for (const row of read.rows) store(this.#points, row)
    else for (const row of read.rows) store(this.#texts, row)
  }

  async series(query: SeriesQuery): Promise<readonly Series[]> {
    return toSeries(this.#named(query), (deviceId, metric) =>
      // Of numbers alone.
      heldIn(this.#points, deviceId, metric, query).map((point) => point as TimedPoint<number>),
    )
  }

  deviceIdsAmong(choice: DeviceChoice): readonly DeviceId[] {
    return this.#devices.matching(choice)
  }

  /** The query by the names of its devices. */
  #named<Query extends Pick<SeriesQuery, 'deviceIds' | 'among'>>(query: Query): Query {
    return query.among === undefined
      ? query
      : { ...query, deviceIds: this.#devices.matching(query.among), among: undefined }
  }

  async trend(query: TrendQuery): Promise<readonly FleetMoment[]> {
    return this.#census.trend(query)
  }

  async points({ deviceId, metric, after, limit, ...span }: PointsQuery): Promise<readonly Point[]> {
    const isLater = (at: Micros, isText: boolean) =>
      after === undefined || at > after.at || (at === after.at && isText && !after.isText)
    return [
      ...heldIn(this.#points, deviceId, metric, span).filter(({ at }) => isLater(at, false)),
      ...heldIn(this.#texts, deviceId, metric, span).filter(({ at }) => isLater(at, true)),
    ]
      .sort((a, b) => a.at - b.at)
      .slice(0, limit)
  }

  async export(what: Export): Promise<Readable> {
    if (what.kind === 'series') return Readable.from(toFile(what, await this.series(what.query)))
    const query = this.#named(what.query)
    const found = [this.#points, this.#texts].flatMap((held) =>
      query.deviceIds.flatMap((deviceId) =>
        query.metrics.map((metric) => ({ deviceId, metric, points: heldIn(held, deviceId, metric, query) })),
      ),
    )
    return Readable.from(toFile(what, found))
  }

  horizon(): Millis {
    return this.#horizon
  }

  async settle(upTo: Millis): Promise<void> {
    this.#horizon = Millis(Math.max(this.#horizon, Math.floor(upTo / HOUR_MS) * HOUR_MS))
  }

  /** Does nothing, because there are no rollups. */
  async resettle(): Promise<void> {}

  async forget(deviceIds: readonly DeviceId[]): Promise<void> {
    for (const id of deviceIds)
      for (const table of [this.#points, this.#texts, this.#history, this.#devices]) table.delete(id)
  }

  async countPoints(deviceId?: DeviceId): Promise<number> {
    let count = 0
    for (const [id, metrics] of this.#points) {
      if (deviceId !== undefined && id !== deviceId) continue
      for (const series of metrics.values()) count += series.size
    }
    return count
  }

  async history({ before, limit, offset = 0, ...filter }: HistoryQuery): Promise<readonly HistoryRow[]> {
    return this.#matching(filter)
      .filter((row) => before === undefined || isOlder(row, before))
      .slice(offset, offset + limit)
  }

  async fleetHistory(query: FleetHistoryQuery): Promise<readonly HistoryRow[]> {
    return fleetRows(this.#allHistory(), query)
  }

  async pastCommands(query: PastCommandsQuery): Promise<readonly PastCommand[]> {
    return pastCommands(this.#allHistory(), query)
  }

  async pastAlerts(query: PastAlertsQuery): Promise<PastAlerts> {
    return pastAlerts(this.#allHistory(), query)
  }

  async alertMoves(deviceId: DeviceId, alertId: AlertId): Promise<readonly HistoryRow[]> {
    return this.#matching({ deviceId, kinds: ['alert'] })
      .filter(({ body }) => body['alert_id'] === alertId)
      .slice(0, LIMITS.alertMovesShownMax)
  }

  async commandSteps(commands: readonly CommandPlace[]): Promise<readonly HistoryRow[]> {
    return commandSteps(this.#allHistory(), commands)
  }

  async countHistory(filter: HistoryFilter): Promise<number> {
    return this.#matching(filter).length
  }

  async countAudit(filter: AuditFilter): Promise<number> {
    return this.#audit.count(filter)
  }

  async audit(query: AuditQuery): Promise<readonly AuditRow[]> {
    return this.#audit.read(query)
  }

  isUp(): boolean {
    return true
  }

  async close(): Promise<void> {}

  #remember(row: HistoryRow): void {
    const rows = this.#history.get(row.deviceId) ?? new Map<string, HistoryRow>()
    this.#history.set(row.deviceId, rows)
    rows.set(`${row.kind} ${row.at} ${row.version}`, row)
  }

  #allHistory(): readonly HistoryRow[] {
    return [...this.#history.values()].flatMap((rows) => [...rows.values()])
  }

  #matching({ deviceId, kinds, from, to, labels }: HistoryFilter): readonly HistoryRow[] {
    const rows = [...(this.#history.get(deviceId)?.values() ?? [])]
    return rows
      .filter(
        (row) =>
          kinds.includes(row.kind) &&
          (from === undefined || row.at >= from * 1000) &&
          (to === undefined || row.at < to * 1000) &&
          (labels === undefined || labels.includes(labelOf(row))),
      )
      .sort(byAge)
  }
}

function store(
  held: Map<string, Map<string, HeldSeries>>,
  { deviceId, at, version, metrics, values }: BlockRow<number> | BlockRow<string>,
): void {
  const device = held.get(deviceId) ?? new Map<string, HeldSeries>()
  held.set(deviceId, device)
  for (const [i, metric] of metrics.entries()) {
    const series: HeldSeries = device.get(metric) ?? new Map()
    device.set(metric, series)
    const before = series.get(at)
    if (before === undefined || version >= before.version) series.set(at, { value: values[i] ?? 0, version })
  }
}

/** Ordered by time. */
function heldIn(
  held: ReadonlyMap<string, ReadonlyMap<string, HeldSeries>>,
  deviceId: DeviceId,
  metric: string,
  { from, to }: { readonly from: Millis; readonly to: Millis },
): readonly TimedPoint<number | string>[] {
  return [...(held.get(deviceId)?.get(metric) ?? [])]
    .filter(([at]) => at >= from * 1000 && at < to * 1000)
    .sort(([a], [b]) => a - b)
    .map(([at, { value }]) => ({ at, value }))
}

function parseRows(block: Block) {
  try {
    // Bodies are written as JSON objects.
    return readHistoryBlock(block.bytes).map((row) => ({ ...row, body: JSON.parse(row.body) as JsonObject }))
  } catch (cause) {
    throw new Fault('TELEMETRY_REFUSED', { retryable: false, cause })
  }
}

/** A place without a kind comes before all rows of its time and version. */
function isOlder(row: HistoryRow, { at, version, kind }: HistoryPlace): boolean {
  if (row.at !== at) return row.at < at
  if (row.version !== version) return row.version < version
  return kind !== undefined && row.kind < kind
}

function parse(block: Block): ReturnType<typeof readBlock> {
  try {
    const read = readBlock(block.bytes)
    if (read.kind === block.kind) return read
  } catch (cause) {
    throw new Fault('TELEMETRY_REFUSED', { retryable: false, cause })
  }
  throw new Fault('TELEMETRY_REFUSED', { retryable: false, message: `the block is not one of ${block.kind}` })
}
