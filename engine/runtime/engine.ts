// The engine put together: broker and requests into the log, the log into shards, what they decide into the world.
import type { Readable } from 'node:stream'
import type { BroadcastId, CommandId, DeviceId } from '../../schemas/ids.ts'
import { serviceUrl } from '../../schemas/service-url.ts'
import type { Command } from '../domain/command/record.ts'
import type { DeviceRequest } from '../domain/device/events.ts'
import { ALL_PARTITIONS, partitionOf } from '../domain/partition.ts'
import type { Shadow } from '../domain/shadow/record.ts'
import { LIMITS } from '../limits.ts'
import type { AuditEntry, AuditFilter, AuditQuery, AuditRow } from '../ports/audit.ts'
import type { DeviceView } from '../ports/device-view.ts'
import type {
  BroadcastRequest,
  BroadcastState,
  DependencyHealth,
  Engine,
  ExportRequest,
  Metric,
  Ports,
  Signed,
  Snapshot,
  Submitted,
} from '../ports/engine.ts'
import { Fault } from '../ports/fault.ts'
import type { Feed } from '../ports/feed.ts'
import type { HistoryFilter, HistoryQuery, HistoryRow } from '../ports/history.ts'
import type { DeadLetterPage, DeadLetterQuery, Directory } from '../ports/store.ts'
import type { Point, PointsQuery, Series, SeriesQuery } from '../ports/telemetry.ts'
import type { AuditBook } from './audit-book.ts'
import type { BroadcastAnswer } from './broadcasts.ts'
import { examine } from './health.ts'
import { uplinkHost } from './ingress/uplink-host.ts'
import type { EngineMeans } from './means.ts'
import type { Metrics } from './metrics.ts'
import { LEADING } from './nodes/nodes.ts'
import { EngineParts, type EngineSettings } from './parts.ts'
import { unkeepable } from './shard/requests.ts'

const SETTLE_EVERY_MS = 60_000
const WHOLE_LOOK_MS = 100

export class LocalEngine implements Engine {
  readonly devices: Directory
  readonly feed: Feed
  readonly #ports: Ports
  readonly #settings: EngineSettings
  readonly #means: EngineMeans
  readonly #parts: EngineParts
  readonly #audit: AuditBook
  readonly #stops: (() => void)[] = []
  #mqttUrls: readonly string[] = []
  #isClosing = false

  constructor(ports: Ports, settings: EngineSettings, means: EngineMeans) {
    this.#ports = ports
    this.#settings = settings
    this.#means = means
    this.devices = ports.store.devices
    this.#parts = new EngineParts(ports, settings, means, {
      submit: (deviceId, request, signed) => this.submit(deviceId, request, signed),
      recordRefusal: (entry) => this.recordRefusal(entry),
    })
    this.feed = this.#parts.feed
    this.#audit = this.#parts.audit
  }

  /** Opens the broker first: a device is acknowledged as soon as the log is there, whatever the shards still load. */
  async open(): Promise<void> {
    const { schedule } = this.#means
    this.#warnOfRebuild()
    if (this.#settings.listens) await this.#listen()
    this.#parts.nodes.serve()
    if (this.#parts.members === undefined) {
      this.#parts.shards.gained(ALL_PARTITIONS.map((partition) => ({ partition, epoch: 0 })))
      void this.#parts.leader.begin()
    } else this.#parts.members.start()
    this.#parts.history.start()
    this.#parts.feed.start()
    this.#stops.push(
      this.#parts.watermark.start(schedule),
      schedule.every(LIMITS.sweepEveryMs, () => {
        this.#parts.ingest.advance()
        this.#parts.shards.sweep()
        this.#parts.replies.expire()
        this.#audit.tick()
        // What another process left there, too.
        if (this.#ports.store.outboxCounts().rows > 0) this.#parts.history.poke()
      }),
      schedule.every(SETTLE_EVERY_MS, () => {
        void this.settleRollups()
        void this.#settleBroadcasts()
      }),
    )
    this.#parts.metrics.watch({
      ingest: () => this.#parts.ingest.counts(),
      broker: () => this.#ports.broker.counts(),
      devices: () => this.devices.countByStatus(),
      backlog: () => this.#parts.shards.backlog(),
      outbox: () => this.#ports.store.outboxCounts(),
      blocksWaiting: () => this.#parts.workers.blocksWaiting(),
    })
  }

  async #listen(): Promise<void> {
    const listeners = await this.#ports.broker.listen(
      uplinkHost(this.#parts.ingest, this.#parts.gateways, {
        admit: this.#means.admit,
        recordRefusal: (entry) => this.recordRefusal(entry),
        heard: (partitions, at) => this.#parts.watermark.handedOver(partitions, at),
      }),
    )
    this.#mqttUrls = listeners.map((listener) => serviceUrl(listener.scheme, listener))
    this.#parts.lanes?.start()
  }

  #warnOfRebuild(): void {
    const { log, store } = this.#ports
    const isEmpty = [...store.applied(), ...store.inserted()].every((seq) => seq === 0)
    if (isEmpty && log.latestAt() > 0)
      this.#means.warn('the store is empty: it is made again from what the log still has, but for users', {})
  }

  async submit(deviceId: DeviceId, request: DeviceRequest, signed: Signed): Promise<Submitted> {
    if (this.#isClosing) throw closing()
    const refused = unkeepable(request)
    if (refused === undefined) {
      const submitted = await this.#parts.nodes.at(partitionOf(deviceId), {
        kind: 'submit',
        deviceId,
        request,
        signed,
      })
      if (submitted.kind === 'done') await this.devices.known(submitted.view.device)
      return submitted
    }
    if (signed.entry !== undefined)
      await this.record([{ ...signed.entry, deviceId, outcome: 'refused', code: refused.code }])
    return refused
  }

  async view(deviceId: DeviceId): Promise<DeviceView | undefined> {
    const [view] = await this.views([deviceId])
    return view
  }

  async views(deviceIds: readonly DeviceId[]): Promise<readonly (DeviceView | undefined)[]> {
    return deviceIds.length === 0 ? [] : this.#parts.nodes.ask({ kind: 'views', deviceIds })
  }

  snapshot(deviceId: DeviceId): Promise<Snapshot | undefined> {
    return this.#parts.nodes.ask({ kind: 'snapshot', deviceId })
  }

  shadow(deviceId: DeviceId): Promise<Shadow | undefined> {
    return this.#parts.nodes.ask({ kind: 'shadow', deviceId })
  }

  commands(deviceId: DeviceId): Promise<readonly Command[] | undefined> {
    return this.#parts.nodes.ask({ kind: 'commands', deviceId })
  }

  async awaitCommand(
    deviceId: DeviceId,
    commandId: CommandId,
    timeoutMs: number,
  ): Promise<Command | undefined> {
    const after = this.#parts.nodes.ends([deviceId])
    const work = { kind: 'await', deviceId, commandId, after, timeoutMs } as const
    return this.#parts.nodes.at(partitionOf(deviceId), work)
  }

  broadcast(request: BroadcastRequest): Promise<BroadcastAnswer> {
    return this.#parts.nodes.at(LEADING, { kind: 'broadcast', request })
  }

  broadcastState(
    broadcastId: BroadcastId,
    { offset, limit }: { readonly offset: number; readonly limit: number },
  ): Promise<BroadcastState | undefined> {
    return this.#parts.nodes.at(LEADING, { kind: 'broadcast_state', broadcastId, offset, limit })
  }

  cancelBroadcast(broadcastId: BroadcastId, by: string): Promise<BroadcastState | undefined> {
    return this.#parts.nodes.at(LEADING, { kind: 'broadcast_cancel', broadcastId, by })
  }

  metricsOf(deviceId: DeviceId): Promise<readonly Metric[] | undefined> {
    return this.#parts.nodes.ask({ kind: 'metrics', deviceId })
  }

  series(query: Omit<SeriesQuery, 'lateHours'>): Promise<readonly Series[]> {
    return this.#ports.telemetry.series(this.#withLate(query))
  }

  points(query: PointsQuery): Promise<readonly Point[]> {
    return this.#ports.telemetry.points(query)
  }

  exportTelemetry(what: ExportRequest): Promise<Readable> {
    return this.#ports.telemetry.export(
      what.kind === 'series' ? { ...what, query: this.#withLate(what.query) } : what,
    )
  }

  history(query: HistoryQuery): Promise<readonly HistoryRow[]> {
    return this.#ports.telemetry.history(query)
  }

  countHistory(filter: HistoryFilter): Promise<number> {
    return this.#ports.telemetry.countHistory(filter)
  }

  countAudit(filter: AuditFilter): Promise<number> {
    return this.#ports.telemetry.countAudit(filter)
  }

  audit(query: AuditQuery): Promise<readonly AuditRow[]> {
    return this.#ports.telemetry.audit(query)
  }

  async record(entries: readonly AuditEntry[]): Promise<void> {
    try {
      await this.#audit.record(entries)
    } catch (error) {
      this.#parts.metrics.auditLost(entries.length)
      throw error
    }
  }

  recordRefusal(entry: AuditEntry): void {
    this.#audit.refuse(entry)
  }

  deadLetters(query: DeadLetterQuery): Promise<DeadLetterPage> {
    return this.#ports.store.deadLetters(query)
  }

  metrics(): Promise<string> {
    return this.#parts.metrics.registry.metrics()
  }

  /** Where other layers put their own metrics. */
  get registry(): Metrics['registry'] {
    return this.#parts.metrics.registry
  }

  health(): readonly DependencyHealth[] {
    return examine({
      ports: this.#ports,
      parts: this.#parts,
      settings: this.#settings,
      mqttUrls: this.#mqttUrls,
    })
  }

  /** Resolves once every device has an owner that answers: after a start there may be none yet. */
  async whole(): Promise<void> {
    while (!this.#isClosing && !(await this.#parts.nodes.isWhole()))
      await this.#means.schedule.sleep(WHOLE_LOOK_MS)
  }

  mqttUrl(): string {
    return this.#settings.mqttUrl ?? this.#mqttUrls[0] ?? ''
  }

  /** Settles rollups if it is time; what fails is tried again with the next round. */
  async settleRollups(): Promise<void> {
    try {
      await this.#parts.settler.settle()
    } catch (error) {
      if (!this.#isClosing) this.#means.warn('rollups could not be settled, trying again', { err: error })
    }
  }

  async #settleBroadcasts(): Promise<void> {
    try {
      await this.#parts.leader.settleBroadcasts()
    } catch (error) {
      if (!this.#isClosing) this.#means.warn('a broadcast could not be settled, trying again', { err: error })
    }
  }

  async close(): Promise<void> {
    const { clock, cluster, broker, telemetry, store, log } = this.#ports
    this.#isClosing = true
    this.#parts.leader.end()
    this.#parts.waits.fail()
    for (const stop of this.#stops) stop()
    await Promise.race([this.#parts.lanes?.close(), this.#means.schedule.sleep(LIMITS.lanesStopTimeoutMs)])
    // Devices stay on a broker outside, and are sent what is decided until the end.
    if (cluster === undefined) await broker.close()
    await this.#parts.members?.close()
    await this.#parts.ingest.close()
    const until = clock.ticks() + LIMITS.shardStopTimeoutMs
    await this.#parts.shards.close(LIMITS.shardStopTimeoutMs)
    // What the shards left of their time; the rest waits in the outbox.
    const left = () => Math.max(0, until - clock.ticks())
    // Whoever took over answers what is under way.
    if (this.#parts.members !== undefined)
      await Promise.race([this.#parts.replies.settled(), this.#means.schedule.sleep(left())])
    await Promise.race([this.#audit.close(), this.#means.schedule.sleep(left())])
    await this.#parts.history.close(left())
    this.#parts.replies.fail(closing())
    this.#parts.performer.close()
    if (cluster !== undefined) await broker.close()
    this.#parts.feed.close()
    this.#parts.workers.closeInserters()
    await telemetry.close()
    await store.close()
    await log.close()
  }

  #withLate(query: Omit<SeriesQuery, 'lateHours'>): SeriesQuery {
    const hours = query.deviceIds.flatMap((deviceId) => this.#parts.settler.lateHours(deviceId))
    return { ...query, lateHours: [...new Set(hours)] }
  }
}

function closing(): Fault {
  return new Fault('SHARD_LOST', { retryable: true, message: 'shutting down' })
}
