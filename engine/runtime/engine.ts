// The engine put together: broker and requests into the log, the log into shards, what they decide into the world.
import type { Readable } from 'node:stream'
import type { BroadcastId, CommandId, DeviceId } from '../../schemas/ids.ts'
import { serviceUrl } from '../../schemas/service-url.ts'
import { messageRefused } from '../domain/audit/device-refusals.ts'
import { isOpen } from '../domain/command/moves.ts'
import type { Command } from '../domain/command/record.ts'
import type { DeviceRequest } from '../domain/device/events.ts'
import type { Author, Shadow } from '../domain/shadow/record.ts'
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
import type { Store } from '../ports/store.ts'
import type { Point, PointsQuery, Series, SeriesQuery } from '../ports/telemetry.ts'
import type { Users } from '../ports/users.ts'
import type { AuditBook } from './audit-book.ts'
import { type BroadcastAnswer, Broadcasts } from './broadcasts.ts'
import { CommandWaits } from './command-waits.ts'
import { LocalFeed } from './feed.ts'
import { Gateways } from './ingress/gateways.ts'
import { Ingest } from './ingress/ingest.ts'
import { uplinkHost } from './ingress/uplink-host.ts'
import type { EngineMeans } from './means.ts'
import { Metrics } from './metrics.ts'
import { ALL_PARTITIONS, partitionOf } from './partition.ts'
import { Questions } from './questions.ts'
import { Replies } from './replies.ts'
import type { HistoryWriter } from './rows/history-writer.ts'
import type { Inserter } from './rows/inserter.ts'
import { Settler } from './rows/settler.ts'
import { Sender } from './sender.ts'
import type { Proposal } from './shard/protocol.ts'
import { packRequest, unkeepable } from './shard/requests.ts'
import { Shards } from './shards.ts'
import { Workers } from './workers.ts'

export interface EngineSettings {
  readonly shards: number
  readonly heartbeatTimeoutMs: number
  readonly build: { readonly version: string; readonly commit: string }
}

const SETTLE_EVERY_MS = 60_000

export class LocalEngine implements Engine {
  readonly store: Store
  readonly users: Users
  readonly feed: Feed
  readonly #ports: Ports
  readonly #means: EngineMeans
  readonly #ingest: Ingest
  readonly #gateways: Gateways
  readonly #inserters: Inserter[] = []
  readonly #shards: Shards
  readonly #questions: Questions
  readonly #feed: LocalFeed
  readonly #settler: Settler
  readonly #history: HistoryWriter
  readonly #audit: AuditBook
  readonly #replies: Replies
  readonly #waits = new CommandWaits()
  readonly #broadcasts: Broadcasts
  readonly #sender: Sender
  readonly #metrics: Metrics
  readonly #stops: (() => void)[] = []
  #mqttUrls: readonly string[] = []
  #isClosing = false

  constructor(ports: Ports, settings: EngineSettings, means: EngineMeans) {
    this.#ports = ports
    this.#means = means
    this.store = ports.store
    this.users = ports.users
    this.#metrics = new Metrics(settings.build)
    this.#replies = new Replies(() => ports.clock.ticks())
    const { schedule, fatal } = means
    this.#ingest = new Ingest({ log: ports.log, clock: ports.clock, schedule, fatal })
    this.#gateways = new Gateways(this.#ingest, ports.store)
    this.#feed = new LocalFeed(
      (wants) => this.#shards.want(wants),
      (error) => means.warn('a listener of the feed failed', { err: error }),
    )
    this.feed = this.#feed
    this.#settler = new Settler(ports, () => this.#shards.flush())
    this.#sender = new Sender(ports.broker, this.#ingest, (error) =>
      means.warn('a message could not be sent to its device', { err: error }),
    )
    this.#broadcasts = new Broadcasts({
      ...ports,
      schedule,
      warn: means.warn,
      submit: (deviceId, request, by) => this.submit(deviceId, request, by),
      commands: (deviceId) => this.commands(deviceId),
      children: (broadcastId) => this.#questions.children(broadcastId),
    })
    const bootAt = this.#ingest.nextAt()
    const workers = new Workers({
      ports,
      means,
      metrics: this.#metrics,
      ingest: this.#ingest,
      horizon: () => this.#settler.horizon(),
      perform: (proposal) => this.#perform(proposal),
    })
    const life = bootAt.toString(36)
    this.#history = workers.openHistory(life)
    this.#audit = workers.openAudit(() => this.#history.poke())
    const seats = Array.from({ length: settings.shards }, (_, shard) => {
      const inserter = workers.openInserter()
      this.#inserters.push(inserter.inserter)
      const { heartbeatTimeoutMs } = settings
      return workers.openSeat(shard, inserter, { isAlone: true, heartbeatTimeoutMs, bootAt, life })
    })
    this.#shards = new Shards(seats, () => true)
    this.#questions = new Questions(ports.log, this.#shards)
  }

  /** Opens the broker first: a device is acknowledged as soon as the log is there, whatever the shards still load. */
  async open(): Promise<void> {
    const { schedule } = this.#means
    this.#warnOfRebuild()
    const listeners = await this.#ports.broker.listen(
      uplinkHost(this.#ingest, this.#gateways, {
        admit: this.#means.admit,
        recordRefusal: (entry) => this.recordRefusal(entry),
      }),
    )
    this.#mqttUrls = listeners.map((listener) => serviceUrl(listener.scheme, listener))
    this.#shards.gained(ALL_PARTITIONS.map((partition) => ({ partition, epoch: 0 })))
    this.#history.start()
    this.#broadcasts.open()
    this.#stops.push(
      schedule.every(LIMITS.sweepEveryMs, () => {
        this.#ingest.tick()
        this.#shards.tick()
        this.#replies.expire()
        this.#audit.tick()
        // What another process left there, too.
        if (this.store.outboxCounts().rows > 0) this.#history.poke()
      }),
      schedule.every(SETTLE_EVERY_MS, () => {
        void this.settleRollups()
        void this.#settleBroadcasts()
      }),
    )
    this.#metrics.watch({
      ingest: () => this.#ingest.counts(),
      broker: () => this.#ports.broker.counts(),
      devices: () => this.store.countByStatus(),
      backlog: () => this.#shards.backlog(),
      outbox: () => this.store.outboxCounts(),
      blocksWaiting: () => this.#inserters.reduce((sum, inserter) => sum + inserter.waiting, 0),
    })
  }

  #warnOfRebuild(): void {
    const { log, store } = this.#ports
    const isEmpty = [...store.applied(), ...store.inserted()].every((seq) => seq === 0)
    if (isEmpty && log.latestAt() > 0)
      this.#means.warn('the store is empty: it is made again from what the log still has, but for users', {})
  }

  async submit(
    deviceId: DeviceId,
    request: DeviceRequest,
    signed: Author | string | Signed,
  ): Promise<Submitted> {
    if (this.#isClosing) throw closing()
    const { by, entry } = typeof signed === 'object' && 'entry' in signed ? signed : { by: signed }
    const refused = unkeepable(request)
    if (refused !== undefined) {
      if (entry !== undefined)
        await this.record([{ ...entry, deviceId, outcome: 'refused', code: refused.code }])
      return refused
    }
    const requestId = this.#means.newId()
    const reply = this.#replies.await(requestId)
    const payload = packRequest({ requestId, deviceId, by, entry, request })
    try {
      const durable = this.#ingest.request(deviceId, partitionOf(deviceId), payload)
      const [answer] = await Promise.all([reply, durable])
      return answer
    } finally {
      this.#replies.forget(requestId)
    }
  }

  async view(deviceId: DeviceId): Promise<DeviceView | undefined> {
    const [view] = await this.views([deviceId])
    return view
  }

  views(deviceIds: readonly DeviceId[]): Promise<readonly (DeviceView | undefined)[]> {
    return this.#questions.views(deviceIds)
  }

  snapshot(deviceId: DeviceId): Promise<Snapshot | undefined> {
    return this.#questions.snapshot(deviceId)
  }

  shadow(deviceId: DeviceId): Promise<Shadow | undefined> {
    return this.#questions.shadow(deviceId)
  }

  commands(deviceId: DeviceId): Promise<readonly Command[] | undefined> {
    return this.#questions.commands(deviceId)
  }

  async awaitCommand(
    deviceId: DeviceId,
    commandId: CommandId,
    timeoutMs: number,
  ): Promise<Command | undefined> {
    const find = async () => (await this.commands(deviceId))?.find(({ id }) => id === commandId)
    const wait = this.#waits.open(deviceId, commandId)
    try {
      const command = await find()
      if (command === undefined || !isOpen(command.status)) return command
      const ended = await Promise.race([wait.ended, this.#means.schedule.sleep(timeoutMs)])
      return ended ?? (await find())
    } finally {
      wait.close()
    }
  }

  broadcast(request: BroadcastRequest): Promise<BroadcastAnswer> {
    return this.#broadcasts.create(request)
  }

  broadcastState(
    broadcastId: BroadcastId,
    page: { readonly offset: number; readonly limit: number },
  ): Promise<BroadcastState | undefined> {
    return this.#broadcasts.state(broadcastId, page)
  }

  cancelBroadcast(broadcastId: BroadcastId, by: string): Promise<BroadcastState | undefined> {
    return this.#broadcasts.cancel(broadcastId, by)
  }

  metricsOf(deviceId: DeviceId): Promise<readonly Metric[] | undefined> {
    return this.#questions.metricsOf(deviceId)
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
      this.#metrics.auditLost(entries.length)
      throw error
    }
  }

  recordRefusal(entry: AuditEntry): void {
    this.#audit.refuse(entry)
  }

  metrics(): Promise<string> {
    return this.#metrics.registry.metrics()
  }

  /** Where other layers put their own metrics. */
  get registry(): Metrics['registry'] {
    return this.#metrics.registry
  }

  health(): readonly DependencyHealth[] {
    const fault = this.#ingest.fault()
    const isUp = this.#ports.telemetry.isUp()
    const isCurrent = this.store.isUp() && this.users.isUp()
    return [
      { name: 'log', ok: fault === undefined, detail: fault?.message ?? 'appending' },
      { name: 'store', ok: isCurrent, detail: isCurrent ? 'current' : 'what others saved may be missing' },
      { name: 'broker', ok: this.#mqttUrls.length > 0, detail: this.#mqttUrls.join(' ') },
      { name: 'telemetry', ok: isUp, detail: isUp ? 'answering' : 'not answering; rows wait in the log' },
    ]
  }

  mqttUrl(): string {
    return this.#mqttUrls[0] ?? ''
  }

  /** Settles rollups if it is time; what fails is tried again with the next round. */
  async settleRollups(): Promise<void> {
    try {
      await this.#settler.settle()
    } catch (error) {
      if (!this.#isClosing) this.#means.warn('rollups could not be settled, trying again', { err: error })
    }
  }

  async #settleBroadcasts(): Promise<void> {
    try {
      await this.#broadcasts.settle()
    } catch (error) {
      if (!this.#isClosing) this.#means.warn('a broadcast could not be settled, trying again', { err: error })
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#broadcasts.close()
    this.#waits.fail()
    for (const stop of this.#stops) stop()
    await this.#ports.broker.close()
    await this.#ingest.close()
    const until = this.#ports.clock.ticks() + LIMITS.shardStopTimeoutMs
    await this.#shards.close(LIMITS.shardStopTimeoutMs)
    // What the shards left of their time; the rest waits in the outbox.
    const left = () => Math.max(0, until - this.#ports.clock.ticks())
    await Promise.race([this.#audit.close(), this.#means.schedule.sleep(left())])
    await this.#history.close(left())
    this.#replies.fail(closing())
    for (const inserter of this.#inserters) inserter.close()
    await this.#ports.telemetry.close()
    await this.#ports.store.close()
    await this.#ports.log.close()
  }

  #withLate(query: Omit<SeriesQuery, 'lateHours'>): SeriesQuery {
    const hours = query.deviceIds.flatMap((deviceId) => this.#settler.lateHours(deviceId))
    return { ...query, lateHours: [...new Set(hours)] }
  }

  /** After the save: send, tell, and only then acknowledge (R4). */
  #perform(proposal: Proposal): void {
    this.#settler.mark(proposal.late)
    if (proposal.history.length > 0) this.#history.poke()
    for (const letter of proposal.deadLetters) this.recordRefusal(messageRefused(letter))
    for (const deviceId of proposal.cuts) {
      this.#ports.broker.cut(deviceId, 'revoked')
      this.#gateways.forget(deviceId)
    }
    this.#sender.send(proposal)
    this.#feed.tell(proposal.feed)
    this.#waits.hear(proposal.feed)
    for (const reply of proposal.replies) this.#replies.settle(reply)
  }
}

function closing(): Fault {
  return new Fault('SHARD_LOST', { retryable: true, message: 'shutting down' })
}
