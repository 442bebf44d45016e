// The engine's parts, each wired to those it needs.

import type { DeviceId } from '../../schemas/ids.ts'
import { Micros, type Partition } from '../../schemas/ids.ts'
import type { AuditEntry } from '../domain/audit/entry.ts'
import type { DeviceRequest } from '../domain/device/events.ts'
import type { Cluster, Ports, Signed, Submitted } from '../ports/engine.ts'
import type { AuditBook } from './audit-book.ts'
import { Broadcasts } from './broadcasts.ts'
import { CommandWaits } from './command-waits.ts'
import { Gateways } from './ingress/gateways.ts'
import { Ingest } from './ingress/ingest.ts'
import { type Lanes, shareLanes } from './ingress/lanes.ts'
import { Watermark } from './ingress/watermark.ts'
import type { EngineMeans } from './means.ts'
import { Metrics } from './metrics.ts'
import { Leader } from './nodes/leader.ts'
import { LocalWork } from './nodes/local-work.ts'
import { joinOwners, type Membership, watchOwners } from './nodes/membership.ts'
import { Nodes } from './nodes/nodes.ts'
import { RemoteFeed } from './nodes/remote-feed.ts'
import { Performer } from './performer.ts'
import { Replies } from './replies.ts'
import type { HistoryWriter } from './rows/history-writer.ts'
import { Settler } from './rows/settler.ts'
import { Sender } from './sender.ts'
import { Shards } from './shards.ts'
import { Workers } from './workers.ts'

export interface EngineSettings {
  /** None on a node that owns no devices. */
  readonly shards: number
  /** Whether devices are listened to here. */
  readonly listens: boolean
  /** Where they connect, if that is to be told otherwise than the broker does. */
  readonly mqttUrl?: string | undefined
  readonly heartbeatTimeoutMs: number
  readonly build: { readonly version: string; readonly commit: string }
}

/** What parts ask of the whole. */
interface Whole {
  readonly submit: (deviceId: DeviceId, request: DeviceRequest, signed: Signed) => Promise<Submitted>
  readonly recordRefusal: (entry: AuditEntry) => void
}

export class EngineParts {
  readonly metrics: Metrics
  readonly ingest: Ingest
  readonly gateways: Gateways
  /** Undefined where devices are not listened to, or by a broker of this process. */
  readonly lanes: Lanes | undefined
  readonly watermark: Watermark
  readonly feed: RemoteFeed
  readonly workers: Workers
  readonly shards: Shards
  /** Undefined where there is one node alone. */
  readonly members: Membership | undefined
  readonly nodes: Nodes
  readonly leader: Leader
  readonly settler: Settler
  readonly history: HistoryWriter
  readonly audit: AuditBook
  readonly replies: Replies
  readonly waits = new CommandWaits()
  readonly performer: Performer
  readonly #ports: Ports
  readonly #settings: EngineSettings
  readonly #means: EngineMeans
  readonly #whole: Whole

  constructor(ports: Ports, settings: EngineSettings, means: EngineMeans, whole: Whole) {
    this.#ports = ports
    this.#settings = settings
    this.#means = means
    this.#whole = whole
    const { clock, log, store, broker, cluster } = ports
    const { schedule, fatal } = means
    const mesh = cluster?.mesh
    this.metrics = new Metrics(settings.build)
    this.replies = new Replies(() => clock.ticks())
    this.ingest = new Ingest({ log, clock, schedule, fatal })
    this.gateways = new Gateways(this.ingest, store.devices)
    this.lanes = settings.listens ? this.#shareLanes() : undefined
    this.watermark = new Watermark({ ingest: this.ingest, log, mesh })
    this.feed = new RemoteFeed({
      mesh,
      clock,
      schedule,
      onWant: (wants) => this.shards.want(wants),
      warn: means.warn,
    })
    this.workers = new Workers({
      ports,
      means,
      metrics: this.metrics,
      ingest: this.ingest,
      horizon: () => this.settler.horizon(),
      watermark: (partitions) => this.watermark.upTo(partitions),
      assigned: () => this.settler.look(),
      perform: (proposal) => this.performer.perform(proposal),
    })
    const bootAt = this.ingest.nextAt()
    const incarnation = cluster === undefined ? bootAt.toString(36) : means.newId()
    this.history = this.workers.openHistory(incarnation)
    this.audit = this.workers.openAudit(() => this.history.poke())
    this.shards = new Shards(
      Array.from({ length: settings.shards }, (_, shard) =>
        this.workers.openAssignment(shard, {
          isAlone: cluster === undefined,
          heartbeatTimeoutMs: settings.heartbeatTimeoutMs,
          // The sessions of a broker outside go on over a restart.
          bootAt: cluster?.lanes === undefined ? bootAt : Micros(0),
          incarnation,
        }),
      ),
      () => this.members?.isCertain() ?? true,
    )
    this.leader = new Leader(this.shards, () => this.#openBroadcasts())
    this.members = cluster && this.#join(cluster)
    this.settler = new Settler({
      ...ports,
      flush: (horizon) => this.nodes.flush(horizon),
      isLeading: () => this.leader.isLeading(),
    })
    this.performer = new Performer({
      broker,
      gateways: this.gateways,
      history: this.history,
      sender: new Sender(broker, this.ingest, (error) =>
        means.warn('a message could not be sent to its device', { err: error }),
      ),
      feed: this.feed,
      waits: this.waits,
      replies: this.replies,
      recordRefusal: whole.recordRefusal,
      mesh,
    })
    this.nodes = this.#openNodes()
  }

  #shareLanes(): Lanes | undefined {
    const { clock, cluster } = this.#ports
    return (
      cluster?.lanes && shareLanes({ ...cluster.lanes, ...this.#means, clock, address: cluster.mesh.address })
    )
  }

  #join(cluster: Cluster): Membership {
    const { schedule, newId, warn } = this.#means
    return (this.#settings.shards === 0 ? watchOwners : joinOwners)({
      cluster,
      clock: this.#ports.clock,
      schedule,
      shards: this.shards,
      newId,
      led: (isLeading) => {
        if (isLeading) void this.leader.begin()
        else this.leader.end()
      },
      warn,
    })
  }

  #openNodes(): Nodes {
    const { clock, cluster, log } = this.#ports
    const { schedule, newId } = this.#means
    const here = new LocalWork({
      shards: this.shards,
      ingest: this.ingest,
      replies: this.replies,
      waits: this.waits,
      settler: this.settler,
      schedule,
      broadcasts: () => this.leader.broadcasts(),
      newRequestId: () => this.performer.requestId(newId()),
    })
    const members = this.members
    const others = cluster &&
      members && {
        mesh: cluster.mesh,
        addressOf: (partition: Partition) => members.addressOf(partition),
      }
    return new Nodes({ here, log, others, clock, schedule })
  }

  #openBroadcasts(): Broadcasts {
    return new Broadcasts({
      ...this.#ports,
      schedule: this.#means.schedule,
      warn: this.#means.warn,
      submit: this.#whole.submit,
      commands: (deviceId) => this.nodes.ask({ kind: 'commands', deviceId }),
      children: (broadcastId) => this.nodes.ask({ kind: 'children', broadcastId }),
    })
  }
}
