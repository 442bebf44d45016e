// Rollups are recomputed from raw points, whole hours at a time. A computation replaces the earlier ones of the same
// buckets, so replays and late points cannot make them wrong. The horizon moves after the last row of a computation.
//
// U1. A computation's number is stored before its first row and contains microseconds, so no two computations share one,
//     even after a crash or when several nodes settle at once.

import { randomInt } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { Millis } from '../../../../schemas/ids.ts'
import { chunks } from '../../../domain/chunks.ts'
import { disjoint, type LateHour } from '../../../domain/telemetry/late-hours.ts'
import { LIMITS } from '../../../limits.ts'
import type { ClickHouseLink, Statement } from './clickhouse-link.ts'

const HOUR_MS = 3_600_000
const HOUR_SEC = 3_600
const AHEAD_SEC = LIMITS.timestampAheadMsMax / 1000 + 1

const SETTINGS = {
  // A point that was received in one month and again in the next counts once.
  do_not_merge_across_partitions_select_final: 0,
  // A device may report any time that is not older than the oldest accepted one.
  max_partitions_per_insert_block: 0,
  insert_deduplicate: 0,
  async_insert: 0,
}

export class Rollups {
  readonly #link: ClickHouseLink
  readonly #ageMsMax: number
  /** Settings that also apply to inserts of rows: how many replicas must have them. */
  readonly #quorum: NonNullable<Statement['settings']>
  #computed = 0
  #horizon = Millis(0)
  #horizonReadAt = 0
  #isRefreshing = false
  #running: Promise<void> = Promise.resolve()

  private constructor(link: ClickHouseLink, ageMsMax: number, quorum: NonNullable<Statement['settings']>) {
    this.#link = link
    this.#ageMsMax = ageMsMax
    this.#quorum = quorum
  }

  /** Other nodes settle, too. Their horizon is looked up again when it is older than `ageMsMax`. */
  static async open(
    link: ClickHouseLink,
    ageMsMax = Number.POSITIVE_INFINITY,
    quorum: NonNullable<Statement['settings']> = {},
  ): Promise<Rollups> {
    const rollups = new Rollups(link, ageMsMax, quorum)
    await rollups.#readHorizon()
    return rollups
  }

  /** Other nodes may have settled more. Then queries read more raw points than necessary. */
  horizon(): Millis {
    if (performance.now() - this.#horizonReadAt > this.#ageMsMax) this.#refreshHorizon()
    return this.#horizon
  }

  /** A horizon in the future was settled under a wrong clock: it does not count, and its hours are settled again. */
  async #readHorizon(): Promise<void> {
    const answer = await this.#link.query({
      sql: `SELECT max(computed), toUnixTimestamp64Milli(maxIf(horizon, finished = 1 AND horizon <= now() + INTERVAL 1 HOUR)) FROM settlements FORMAT TSV`,
      timeoutMs: LIMITS.telemetryQueryTimeoutMs,
    })
    const [computed, horizon] = answer.toString().trim().split('\t').map(Number)
    this.#computed = Math.max(this.#computed, computed ?? 0)
    this.#horizon = Millis(Math.max(this.#horizon, horizon ?? 0))
    this.#horizonReadAt = performance.now()
  }

  #refreshHorizon(): void {
    if (this.#isRefreshing) return
    this.#isRefreshing = true
    const done = () => {
      this.#isRefreshing = false
    }
    // After a failure, the next query tries again.
    this.#readHorizon().then(done, done)
  }

  /** Computations run one at a time, in the order of the calls. */
  settle(upTo: Millis, late: readonly LateHour[]): Promise<void> {
    return this.#runExclusive(() => this.#settle(upTo, late))
  }

  /** Computes the settled hours of all devices again. */
  resettle(from: Millis, to: Millis): Promise<void> {
    return this.#runExclusive(() => this.#resettle(from, to))
  }

  #runExclusive(compute: () => Promise<void>): Promise<void> {
    const computed = this.#running.then(compute)
    this.#running = computed.catch(() => undefined)
    return computed
  }

  async #resettle(fromMs: Millis, toMs: Millis): Promise<void> {
    await this.#readHorizon()
    const horizon = this.#horizon
    const from = Math.floor(fromMs / HOUR_MS) * HOUR_MS
    const to = Math.min(horizon, Math.ceil(toMs / HOUR_MS) * HOUR_MS)
    if (to <= from) return
    const computed = await this.#begin(horizon)
    await this.#run(minutesOfAll({ from, to, computed }))
    await this.#run(hours(computed, from / 1000))
    await this.#recordComputation({ computed, horizon, finished: 1 })
  }

  /** Stores the computation's number first (U1). */
  async #begin(horizon: Millis): Promise<number> {
    const computed = Math.max(this.#computed + 1, Date.now() * 1000 + randomInt(1000))
    await this.#recordComputation({ computed, horizon, finished: 0 })
    this.#computed = computed
    return computed
  }

  async #settle(upTo: Millis, late: readonly LateHour[]): Promise<void> {
    await this.#readHorizon()
    const from = this.#horizon
    const to = Math.max(from, Math.floor(upTo / HOUR_MS) * HOUR_MS)
    // The minutes of a computation are summed up to hours, so none may be computed twice in it.
    const lateHours = disjoint(late.filter(({ hour }) => hour * 1000 < from))
    if (to === from && lateHours.length === 0) return
    const computed = await this.#begin(from)
    if (to > from) await this.#run(minutesOfAll({ from, to, computed }))
    const single = lateHours.filter(({ until }) => until === undefined)
    for (const part of chunks(single, LIMITS.telemetryLateHoursMax))
      await this.#run(minutesOfLate(part, computed))
    for (const spans of groupsOf(lateHours))
      for (const part of chunks(spans, LIMITS.telemetryLateHoursMax))
        await this.#run(minutesOfSpan(part, { computed, horizonSec: from / 1000 }))
    const oldest = lateHours.reduce((least, { hour }) => Math.min(least, hour), from / 1000)
    await this.#run(hours(computed, oldest))
    await this.#recordComputation({ computed, horizon: to, finished: 1 })
    this.#horizon = Millis(to)
  }

  async #run(statement: Omit<Statement, 'timeoutMs'>): Promise<void> {
    const settings = { ...statement.settings, ...this.#quorum }
    await this.#link.command({ ...statement, settings, timeoutMs: LIMITS.telemetrySettleTimeoutMs })
  }

  #recordComputation(row: {
    readonly computed: number
    readonly horizon: number
    readonly finished: 0 | 1
  }): Promise<void> {
    return this.#run({
      sql: `INSERT INTO settlements SELECT {computed:UInt64}, fromUnixTimestamp64Milli({horizon:Int64}, 'UTC'), {finished:UInt8}`,
      params: row,
    })
  }
}

function minutesOfAll(span: { readonly from: number; readonly to: number; readonly computed: number }) {
  return minutes('1', {
    computed: span.computed,
    from: span.from * 1000,
    to: span.to * 1000,
    received: Math.max(0, span.from / 1000 - AHEAD_SEC),
  })
}

function minutesOfLate(late: readonly LateHour[], computed: number) {
  const hours = late.map(({ hour }) => hour)
  const from = Math.min(...hours)
  const devices = late.map(({ deviceId }) => deviceId)
  return minutes(
    `device_id IN (SELECT arrayJoin({devices:Array(String)})) AND
     (device_id, intDiv(toUnixTimestamp64Second(ts), ${HOUR_SEC}) * ${HOUR_SEC}) IN
     (SELECT arrayJoin(arrayZip({devices:Array(String)}, {hours:Array(Int64)})))`,
    {
      computed,
      from: from * 1_000_000,
      to: (Math.max(...hours) + HOUR_SEC) * 1_000_000,
      received: Math.max(0, from - AHEAD_SEC),
      devices,
      hours,
    },
  )
}

/** Groups marks that span the same hours: after an outage many devices have the same ones. */
function groupsOf(late: readonly LateHour[]): Iterable<readonly LateHour[]> {
  const groups = new Map<string, LateHour[]>()
  for (const mark of late) {
    if (mark.until === undefined) continue
    const span = `${mark.hour}-${mark.until}`
    const group = groups.get(span) ?? []
    groups.set(span, group)
    group.push(mark)
  }
  return groups.values()
}

/** Ends at the horizon, because hours from the horizon on are computed for all devices. */
function minutesOfSpan(
  spans: readonly LateHour[],
  { computed, horizonSec }: { readonly computed: number; readonly horizonSec: number },
) {
  const [{ hour = 0, until = 0 } = {}] = spans
  return minutes('device_id IN (SELECT arrayJoin({devices:Array(String)}))', {
    computed,
    from: hour * 1_000_000,
    to: Math.min(until, horizonSec) * 1_000_000,
    received: Math.max(0, hour - AHEAD_SEC),
    devices: spans.map(({ deviceId }) => deviceId),
  })
}

function minutes(whose: string, params: NonNullable<Statement['params']>): Omit<Statement, 'timeoutMs'> {
  return {
    sql: `INSERT INTO rollup_1m (device_id, metric, bucket, count, sum, min, max, last, last_ts, computed)
      SELECT device_id, metric, toDateTime(intDiv(toUnixTimestamp64Second(ts), 60) * 60, 'UTC') AS bucket,
        count(), sum(v), min(v), max(v), argMax(v, ts), max(ts), {computed:UInt64}
      FROM (SELECT device_id, metric, ts, value AS v FROM points FINAL
        WHERE received >= toDateTime({received:UInt32}, 'UTC')
          AND ts >= fromUnixTimestamp64Micro({from:Int64}, 'UTC') AND ts < fromUnixTimestamp64Micro({to:Int64}, 'UTC')
          AND ${whose})
      GROUP BY device_id, metric, bucket`,
    params,
    settings: SETTINGS,
  }
}

/** Sums up the minutes of this computation, which always covers whole hours. */
function hours(computed: number, oldestSec: number): Omit<Statement, 'timeoutMs'> {
  return {
    sql: `INSERT INTO rollup_1h (device_id, metric, bucket, count, sum, min, max, last, last_ts, computed)
      SELECT device_id, metric, toDateTime(intDiv(toUnixTimestamp(m.bucket), ${HOUR_SEC}) * ${HOUR_SEC}, 'UTC') AS start,
        sum(m.count), sum(m.sum), min(m.min), max(m.max), argMax(m.last, m.last_ts), max(m.last_ts), {computed:UInt64}
      FROM rollup_1m AS m
      WHERE m.computed = {computed:UInt64} AND m.bucket >= toDateTime({oldest:UInt32}, 'UTC')
      GROUP BY device_id, metric, start`,
    params: { computed, oldest: oldestSec },
    settings: SETTINGS,
  }
}
