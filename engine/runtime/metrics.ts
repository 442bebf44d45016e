// Metrics for dashboards and alerts. Threads send their figures with every result, so figures survive a thread that dies.
// Labels hold no ids of devices or users.
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { DEVICE_STATUSES } from '../../schemas/vocabulary.ts'
import type { BrokerCounts } from '../ports/broker.ts'
import type { OutboxCounts } from '../ports/store.ts'
import type { Block } from '../ports/telemetry.ts'
import { type AlertGauges, AlertMetrics } from './alert-metrics.ts'
import type { NotifierSignal } from './alerts/notifier.ts'
import type { IngestCounts } from './ingress/ingest.ts'
import { type OtaGauges, OtaMetrics } from './ota-metrics.ts'
import { readGauge, readTotals, type Totals } from './scraped.ts'
import type { WorkResult } from './shard/protocol.ts'
import { Throughput } from './throughput.ts'

type NotifiedSignal = Extract<NotifierSignal, { readonly kind: 'notified' }>

/** Read on every scrape. */
export interface Gauges {
  readonly ingest: () => IngestCounts
  readonly broker: () => BrokerCounts
  readonly devices: () => Readonly<Record<string, number>>
  readonly backlog: () => readonly number[]
  readonly blocksWaiting: () => number
  readonly rowsWaiting: () => number
  readonly outbox: () => OutboxCounts
  readonly notificationsWaiting: () => number
  readonly ota: OtaGauges
  readonly alerts: AlertGauges
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

const RESULTS = ['stored', 'refused', 'ignored'] as const

/** Skips zeros: most tasks of a shard only answer questions, and adding zero costs as much as adding a number. */
function add(counter: Counter, value: number, labels: Readonly<Record<string, string>> = {}): void {
  if (value !== 0) counter.inc(labels, value)
}

export class Metrics {
  readonly registry = new Registry()
  readonly throughput = new Throughput()
  readonly alerts = new AlertMetrics(this.registry)
  readonly ota = new OtaMetrics(this.registry)
  readonly #messages = this.#counter(
    'fleet_ingest_messages_total',
    'Device messages by what became of them',
    ['kind', 'result'],
  )
  readonly #points = this.#counter('fleet_ingest_points_total', 'Telemetry points decoded')
  readonly #adjusted = this.#counter(
    'fleet_ingest_timestamps_adjusted_total',
    'Far-off device times replaced by the receive time',
  )
  readonly #droppedPoints = this.#counter(
    'fleet_ingest_points_dropped_total',
    'Points of metrics beyond the limit of their device',
  )
  readonly #lag = this.#histogram(
    'fleet_ingest_lag_seconds',
    'From receiving the first row of a block to having it stored',
    SECONDS,
  )
  readonly #busy = this.#histogram('fleet_actor_process_seconds', 'One batch in its shard', SECONDS, ['kind'])
  readonly #stage = this.#counter('fleet_stage_seconds_total', 'Time of the shard threads by stage', [
    'stage',
  ])
  readonly #restarts = this.#counter(
    'fleet_worker_restarts_total',
    'Shard threads opened again after a crash',
  )
  readonly #saveFailures = this.#counter(
    'fleet_store_save_failures_total',
    'Saves that had to be tried again',
  )
  readonly #rows = this.#counter('fleet_clickhouse_insert_rows_total', 'Rows stored', ['table'])
  readonly #insertSeconds = this.#histogram('fleet_clickhouse_insert_seconds', 'One insert', SECONDS)
  readonly #batchRows = this.#histogram(
    'fleet_clickhouse_batch_rows',
    'Rows of one insert',
    [1e2, 1e3, 1e4, 5e4, 1e5, 2.5e5],
  )
  readonly #auditLost = this.#counter(
    'fleet_audit_entries_lost_total',
    'Entries of the audit that could not be kept',
  )
  readonly #notifications = this.#counter(
    'fleet_notifications_total',
    'Attempts to tell a channel of alerts',
    ['type', 'event', 'result'],
  )
  readonly #notificationSeconds = this.#histogram(
    'fleet_notification_seconds',
    'From the making of a message to the receiver having it',
    SECONDS,
  )
  readonly #notificationsDropped = this.#counter(
    'fleet_notifications_dropped_total',
    'Alerts that somebody was not told of',
    ['reason'],
  )
  readonly #insertErrors = this.#counter('fleet_clickhouse_errors_total', 'Inserts that failed', ['result'])

  constructor(build: { readonly version: string; readonly commit: string }) {
    this.#gauge('fleet_build_info', 'The running build', ['version', 'commit', 'node']).set(
      { version: build.version, commit: build.commit, node: process.versions.node },
      1,
    )
    // Every series exists before the first message is counted.
    for (const result of RESULTS) this.#messages.inc({ kind: 'uplink', result }, 0)
    for (const stage of ['shard', 'encode', 'alerts']) this.#stage.inc({ stage }, 0)
  }

  worked(shard: number, result: WorkResult): void {
    const { counts } = result
    this.throughput.worked(counts.stored + counts.refused + counts.ignored, counts.points)
    for (const result of RESULTS) add(this.#messages, counts[result], { kind: 'uplink', result })
    add(this.#points, counts.points)
    add(this.#adjusted, counts.adjusted)
    add(this.#droppedPoints, counts.droppedPoints)
    this.#stage.inc({ stage: 'shard' }, (counts.busyMs - counts.encodeMs - counts.alertsMs) / 1000)
    add(this.#stage, counts.encodeMs / 1000, { stage: 'encode' })
    add(this.#stage, counts.alertsMs / 1000, { stage: 'alerts' })
    this.alerts.worked(shard, { evaluations: counts.evaluations, byState: result.alerts })
    this.#busy.observe({ kind: 'batch' }, counts.busyMs / 1000)
    this.#actors.set({ shard }, result.devices)
  }

  inserted(block: Block, seconds: number, lagSeconds: number | undefined): void {
    this.#rows.inc({ table: block.kind }, block.rows)
    this.#insertSeconds.observe(seconds)
    this.throughput.inserted(seconds * 1000)
    this.#batchRows.observe(block.rows)
    if (lagSeconds !== undefined) this.#lag.observe(lagSeconds)
  }

  insertFailed(result: 'retried' | 'refused'): void {
    this.#insertErrors.inc({ result })
  }

  notified({ channelType: type, event, result, seconds }: NotifiedSignal): void {
    this.#notifications.inc({ type, event, result })
    if (seconds !== undefined) this.#notificationSeconds.observe(seconds)
  }

  notificationsDropped(reason: string, alerts: number): void {
    this.#notificationsDropped.inc({ reason }, alerts)
  }

  auditLost(entries: number): void {
    this.#auditLost.inc(entries)
  }

  lost(): void {
    this.#restarts.inc()
  }

  saveFailed(): void {
    this.#saveFailures.inc()
  }

  readonly #actors = this.#gauge('fleet_actor_count', 'Devices in a shard', ['shard'])

  /** Registers metrics that are read on every scrape. */
  watch(gauges: Gauges): void {
    this.ota.watch(gauges.ota)
    this.alerts.watch(gauges.alerts)
    const read = (name: string, help: string, labelNames: string[], set: (gauge: Gauge) => void) =>
      readGauge(this.registry, { name, help, labelNames }, set)
    const total = (name: string, help: string, count: () => number) =>
      readTotals(this.registry, { name, help }, () => ({ all: count() }))
    const totals = (name: string, help: string, label: string, counts: () => Totals) =>
      readTotals(this.registry, { name, help, label }, counts)
    read('fleet_mqtt_connected', 'Connected devices', [], (g) => g.set(gauges.broker().connected))
    read('fleet_ingest_pending_bytes', 'Accepted and not yet durable', [], (g) =>
      g.set(gauges.ingest().pendingBytes),
    )
    total('fleet_log_appends_total', 'Appends to the log', () => gauges.ingest().appends)
    total(
      'fleet_log_append_failures_total',
      'Appends to the log that failed',
      () => gauges.ingest().appendFailures,
    )
    read('fleet_notification_queue', 'Alerts that somebody is still to be told of', [], (g) =>
      g.set(gauges.notificationsWaiting()),
    )
    read('fleet_clickhouse_blocks_waiting', 'Blocks not yet stored', [], (g) => g.set(gauges.blocksWaiting()))
    read('fleet_clickhouse_rows_waiting', 'Rows of these blocks', [], (g) => g.set(gauges.rowsWaiting()))
    read('fleet_history_rows_waiting', 'History rows not yet in ClickHouse', [], (g) =>
      g.set(gauges.outbox().rows),
    )
    total(
      'fleet_history_rows_dropped_total',
      'History rows given up because too many waited',
      () => gauges.outbox().dropped,
    )
    read('fleet_devices', 'Devices by status', ['status'], (g) => {
      const counts = gauges.devices()
      for (const status of DEVICE_STATUSES) g.set({ status }, counts[status] ?? 0)
    })
    read('fleet_shard_backlog_entries', 'Log entries not yet applied', ['shard'], (g) => {
      gauges.backlog().forEach((entries, shard) => {
        g.set({ shard }, entries)
      })
    })
    totals('fleet_mqtt_sessions_total', 'MQTT sessions by result', 'result', () => {
      const { admitted, denied, cutFrozen } = gauges.broker()
      return { admitted, denied, cut_frozen: cutFrozen }
    })
    totals('fleet_mqtt_publishes_total', 'Messages read from devices by QoS', 'qos', () =>
      Object.fromEntries(gauges.broker().publishes.entries()),
    )
    read(
      'fleet_broker_lanes',
      'Lanes of a broker outside by state: `down` lanes are not read',
      ['state'],
      (g) => {
        const { outside } = gauges.broker()
        if (outside === undefined) return
        g.set({ state: 'open' }, outside.lanesOpen)
        g.set({ state: 'down' }, outside.lanesOwned - outside.lanesOpen)
      },
    )
    read(
      'fleet_broker_waiting',
      'Messages and calls on their way from or to a broker outside',
      ['what'],
      (g) => {
        const { outside } = gauges.broker()
        if (outside === undefined) return
        g.set({ what: 'uplinks' }, outside.unacknowledged)
        g.set({ what: 'downlinks' }, outside.downlinksWaiting)
        g.set({ what: 'calls' }, outside.callsWaiting)
      },
    )
    totals(
      'fleet_broker_lost_total',
      'Sessions, messages and calls given up between here and a broker outside',
      'what',
      () => {
        const { outside } = gauges.broker()
        if (outside === undefined) return {}
        const { lostSessions, downlinksDropped, callsDropped } = outside
        return { lane_sessions: lostSessions, downlinks: downlinksDropped, calls: callsDropped }
      },
    )
    total(
      'fleet_messages_shed_total',
      'Messages of QoS 0 dropped because their device was over its publish rate',
      () => gauges.broker().shedQos0,
    )
  }

  #counter(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] })
  }

  #gauge(name: string, help: string, labelNames: string[] = []): Gauge {
    return new Gauge({ name, help, labelNames, registers: [this.registry] })
  }

  #histogram(name: string, help: string, buckets: number[], labelNames: string[] = []): Histogram {
    return new Histogram({ name, help, buckets, labelNames, registers: [this.registry] })
  }
}
