// The engine put together: broker and requests into the log, the log into shards, what they decide into the world.
import type { Readable } from 'node:stream'
import type { BroadcastId, CommandId, DeviceId, Millis } from '../../schemas/ids.ts'
import { serviceUrl } from '../../schemas/service-url.ts'
import type { KeptCommand } from '../domain/command/kept-commands.ts'
import type { Command } from '../domain/command/record.ts'
import type { DeviceRequest } from '../domain/device/events.ts'
import type { FleetMoment } from '../domain/fleet/census.ts'
import type { FirmwareState } from '../domain/ota/tally.ts'
import { ALL_PARTITIONS } from '../domain/partition.ts'
import type { Shadow } from '../domain/shadow/record.ts'
import { LIMITS } from '../limits.ts'
import type { ChannelAnswer, ChannelCall } from '../ports/alert-channels.ts'
import type { AlertsPort } from '../ports/alerts.ts'
import type { AuditEntry } from '../ports/audit.ts'
import type { Deployments } from '../ports/deployments.ts'
import type { DeviceView } from '../ports/device-view.ts'
import type {
  Authorship,
  BroadcastList,
  BroadcastPage,
  BroadcastRequest,
  BroadcastState,
  BroadcastsQuery,
  Engine,
  ExportRequest,
  KeptCommandsQuery,
  Metric,
  Ports,
  PurgeOutcome,
  RequestOutcome,
  Snapshot,
} from '../ports/engine.ts'
import { Fault } from '../ports/fault.ts'
import type { Feed } from '../ports/feed.ts'
import type { FleetPort } from '../ports/fleet.ts'
import type { CommandPlace } from '../ports/history.ts'
import type { FirmwareLibrary } from '../ports/ota.ts'
import type { DeadLetter, Directory, LetterName } from '../ports/store.ts'
import type { DependencyHealth, NodeFigures, SystemState } from '../ports/system.ts'
import type { Point, PointsQuery, Series, SeriesQuery, TrendQuery } from '../ports/telemetry.ts'
import type { BroadcastAnswer } from './broadcasts/broadcasts.ts'
import { closeSteps } from './closing.ts'
import { composeEngine, type EngineParts, type EngineSettings } from './compose-engine.ts'
import { discardLetters, replayLetters } from './dead-letter-replays.ts'
import { DEVICES_COPIED } from './fleet/device-copier.ts'
import { examine, type HealthPorts } from './health.ts'
import type { EngineHost } from './host.ts'
import { uplinkHost } from './ingress/uplink-host.ts'
import type { Metrics } from './metrics.ts'
import { nodeFigures } from './node-figures.ts'
import { LEADER_PARTITION } from './nodes/nodes.ts'
import { routedAlerts } from './nodes/routed-alerts.ts'
import { routedDeployments } from './nodes/routed-deployments.ts'
import { shuttingDown } from './shutting-down.ts'
import { StoredReads } from './stored-reads.ts'

const SETTLE_EVERY_MS = 60_000
const WHOLE_LOOK_MS = 100

export class LocalEngine extends StoredReads implements Engine {
  readonly devices: Directory
  readonly feed: Feed
  readonly firmware: FirmwareLibrary
  readonly deployments: Deployments
  readonly alerts: AlertsPort
  readonly fleet: FleetPort
  readonly #ports: Ports
  readonly #settings: EngineSettings
  readonly #host: EngineHost
  readonly #parts: EngineParts
  readonly #stops: (() => void)[] = []
  #mqttUrls: readonly string[] = []
  readonly #startedAt: Millis
  #isClosing = false

  constructor(ports: Ports, settings: EngineSettings, host: EngineHost) {
    super(ports)
    this.#ports = ports
    this.#settings = settings
    this.#host = host
    this.devices = ports.store.devices
    this.#startedAt = ports.clock.now()
    this.#parts = composeEngine(ports, settings, { ...host, figures: () => this.#figures() })
    this.feed = this.#parts.feed
    this.firmware = this.#parts.ota.library
    this.deployments = routedDeployments(this.#parts.nodes, this.#parts.deployments)
    this.alerts = routedAlerts(this.#parts)
    this.fleet = this.#parts.fleet
  }

  /** Opens the broker first: devices are acknowledged as soon as the log is open, even while shards are still loading. */
  async open(): Promise<void> {
    const { schedule } = this.#host
    this.#warnOfRebuild()
    if (this.#settings.listens) await this.#listen()
    this.#parts.nodes.serve()
    // Opened before the shards, because a device gets its rules when it is loaded.
    await this.#parts.alertBook.open()
    if (this.#parts.members === undefined) {
      this.#parts.shards.gained(ALL_PARTITIONS.map((partition) => ({ partition, epoch: 0 })))
      void this.#parts.leader.begin()
    } else this.#parts.members.start()
    this.#parts.history.start()
    this.#stops.push(this.#parts.ota.cache.open(), this.#parts.deployments.open())
    this.#parts.feed.start()
    this.#stops.push(
      this.#parts.watermark.start(schedule),
      schedule.every(LIMITS.sweepEveryMs, () => {
        this.#parts.ingest.advance()
        this.#parts.shards.sweep()
        this.#parts.metrics.throughput.sample(this.#ports.clock.ticks())
        this.#parts.replies.expire()
        this.#parts.audit.tick()
        // The outbox may also hold rows that an earlier process left.
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
      ota: {
        deployments: () => this.#parts.deployments.countByStatus(),
        jobs: () => this.#parts.deployments.countJobs(),
        storageBytes: () => this.firmware.storageBytes(),
        uploadedBytes: () => this.#parts.ota.library.uploadedBytes(),
      },
      alerts: {
        rules: () => this.#parts.alertBook.settings.rules.length,
        fleetAlerts: () => this.#parts.leader.current()?.fleetAlerts.counts(undefined).byState,
      },
      notificationsWaiting: () => this.#parts.leader.current()?.notifications.waiting() ?? 0,
      blocksWaiting: () => this.#parts.inserters.reduce((sum, { waiting }) => sum + waiting, 0),
      rowsWaiting: () => this.#parts.inserters.reduce((sum, { rowsWaiting }) => sum + rowsWaiting, 0),
    })
  }

  async #listen(): Promise<void> {
    const listeners = await this.#ports.broker.listen(
      uplinkHost(this.#parts.ingest, this.#parts.gateways, {
        admit: this.#host.admit,
        recordRefusal: this.#parts.recordRefusal,
        heard: (partitions, at) => this.#parts.watermark.handedOver(partitions, at),
        subscribed: (session) => this.#parts.errors.subscribed(session),
        tokens: this.#parts.tokenIssuer,
      }),
    )
    this.#mqttUrls = listeners.map((listener) => serviceUrl(listener.scheme, listener))
    this.#parts.lanes?.start()
  }

  #warnOfRebuild(): void {
    const { log, store } = this.#ports
    const isEmpty = [...store.applied(), ...store.inserted()].every((seq) => seq === 0)
    if (isEmpty && log.latestAt() > 0) this.#parts.signal({ kind: 'store_empty' })
  }

  async submit(deviceId: DeviceId, request: DeviceRequest, signed: Authorship): Promise<RequestOutcome> {
    if (this.#isClosing) throw shuttingDown()
    return this.#parts.submit(deviceId, request, signed)
  }

  purge(
    deviceId: DeviceId,
    meant: Parameters<Engine['purge']>[1],
    signed: Authorship,
  ): Promise<PurgeOutcome> {
    if (this.#isClosing) return Promise.reject(shuttingDown())
    return this.#parts.nodes.runAtOwner(LEADER_PARTITION, { kind: 'purge', deviceId, ...meant, signed })
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

  keptCommands(query: KeptCommandsQuery): Promise<readonly KeptCommand[]> {
    return this.#parts.nodes.ask({ kind: 'kept_commands', query })
  }

  async keptAmong(commands: readonly CommandPlace[]): Promise<readonly KeptCommand[]> {
    return commands.length === 0 ? [] : this.#parts.nodes.ask({ kind: 'named_commands', commands })
  }

  async firmwareOf(deviceId: DeviceId): Promise<FirmwareState | undefined> {
    const [state] = await this.#parts.nodes.ask({ kind: 'firmware', deviceIds: [deviceId] })
    return state
  }

  async awaitCommand(
    deviceId: DeviceId,
    commandId: CommandId,
    timeoutMs: number,
  ): Promise<Command | undefined> {
    const after = this.#parts.nodes.logEndsFor([deviceId])
    const work = { kind: 'await', deviceId, commandId, after, timeoutMs } as const
    return this.#parts.nodes.runForDevice(deviceId, work)
  }

  broadcast(request: BroadcastRequest): Promise<BroadcastAnswer> {
    return this.#parts.nodes.runAtOwner(LEADER_PARTITION, { kind: 'broadcast', request })
  }

  broadcastState(broadcastId: BroadcastId, page: BroadcastPage): Promise<BroadcastState | undefined> {
    return this.#parts.nodes.runAtOwner(LEADER_PARTITION, { kind: 'broadcast_state', broadcastId, ...page })
  }

  listBroadcasts(query: BroadcastsQuery): Promise<BroadcastList> {
    return this.#parts.nodes.runAtOwner(LEADER_PARTITION, { kind: 'broadcast_list', query })
  }

  cancelBroadcast(broadcastId: BroadcastId, by: string): Promise<BroadcastState | undefined> {
    return this.#parts.nodes.runAtOwner(LEADER_PARTITION, { kind: 'broadcast_cancel', broadcastId, by })
  }

  channels<Call extends ChannelCall>(call: Call): Promise<ChannelAnswer<Call>> {
    // The leader answers each call by its own kind.
    return this.#parts.nodes.runAtOwner(LEADER_PARTITION, { kind: 'channels', call }) as Promise<
      ChannelAnswer<Call>
    >
  }

  metricsOf(deviceId: DeviceId): Promise<readonly Metric[] | undefined> {
    return this.#parts.nodes.ask({ kind: 'metrics', deviceId })
  }

  series(query: Omit<SeriesQuery, 'lateHours'>): Promise<readonly Series[]> {
    return this.#ports.telemetry.series(this.#withLate(query))
  }

  knowsDevices(): boolean {
    return this.#ports.store.getFact(DEVICES_COPIED) !== undefined
  }

  trend(query: TrendQuery): Promise<readonly FleetMoment[]> {
    return this.#ports.telemetry.trend(query)
  }

  points(query: PointsQuery): Promise<readonly Point[]> {
    return this.#ports.telemetry.points(query)
  }

  exportTelemetry(what: ExportRequest): Promise<Readable> {
    return this.#ports.telemetry.export(
      what.kind === 'series' ? { ...what, query: this.#withLate(what.query) } : what,
    )
  }

  record(entries: readonly AuditEntry[]): Promise<void> {
    return this.#parts.record(entries)
  }

  recordRefusal(entry: AuditEntry): void {
    this.#parts.recordRefusal(entry)
  }

  replayDeadLetters(letters: readonly DeadLetter[]): Promise<void> {
    return replayLetters({ store: this.#ports.store, ingest: this.#parts.ingest }, letters)
  }

  discardDeadLetters(letters: readonly LetterName[]): Promise<void> {
    return discardLetters({ store: this.#ports.store }, letters)
  }

  metrics(): Promise<string> {
    return this.#parts.metrics.registry.metrics()
  }

  /** Other layers register their own metrics here. */
  get registry(): Metrics['registry'] {
    return this.#parts.metrics.registry
  }

  health(): readonly DependencyHealth[] {
    return examine(this.#node())
  }

  async system(): Promise<SystemState> {
    const size = this.#ports.log.size().catch((error: unknown) => {
      if (error instanceof Fault) return undefined
      throw error
    })
    const [nodes, log] = await Promise.all([this.#parts.nodes.figures(), size])
    return { nodes, log }
  }

  #figures(): Promise<NodeFigures> {
    return nodeFigures({ ...this.#node(), startedAt: this.#startedAt })
  }

  #node(): HealthPorts {
    const parts = this.#parts
    return { ports: this.#ports, parts, settings: this.#settings, mqttUrls: this.#mqttUrls }
  }

  /** Resolves once every partition has an owner that answers. Right after a start, some have none. */
  async whole(): Promise<void> {
    while (!this.#isClosing && !(await this.#parts.nodes.isComplete()))
      await this.#host.schedule.sleep(WHOLE_LOOK_MS)
  }

  mqttUrl(): string {
    return this.#settings.mqttUrl ?? this.#mqttUrls[0] ?? ''
  }

  /** Settles rollups if it is time. After a failure, the next round tries again. */
  async settleRollups(): Promise<void> {
    try {
      await this.#parts.settler.settle()
    } catch (error) {
      if (!this.#isClosing) this.#parts.signal({ kind: 'rollups_unsettled', error })
    }
  }

  async #settleBroadcasts(): Promise<void> {
    try {
      await this.#parts.leader.settleBroadcasts()
    } catch (error) {
      if (!this.#isClosing) this.#parts.signal({ kind: 'broadcasts_unsettled', error })
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true
    const steps = closeSteps(this.#ports, this.#parts, {
      stops: this.#stops,
      sleep: (ms) => this.#host.schedule.sleep(ms),
    })
    for (const step of Object.values(steps)) await step()
  }

  #withLate(query: Omit<SeriesQuery, 'lateHours'>): SeriesQuery {
    const { settler } = this.#parts
    const { among, deviceIds } = query
    return { ...query, lateHours: settler.lateHours(among === undefined ? deviceIds : undefined, query) }
  }
}
