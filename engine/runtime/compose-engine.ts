// The parts of an engine, made in the order in which they are needed. Where two need each other, the earlier one gets a
// function that finds the later one.
import type { DeviceId, Partition } from '../../schemas/ids.ts'
import { Micros } from '../../schemas/ids.ts'
import type { AuditEntry } from '../domain/audit/entry.ts'
import type { DeviceRequest } from '../domain/device/events.ts'
import { partitionOf } from '../domain/partition.ts'
import type { Ports, RequestOutcome, Signed } from '../ports/engine.ts'
import { Fault } from '../ports/fault.ts'
import type { Claim } from '../ports/store.ts'
import { AuditBook } from './audit-book.ts'
import { Broadcasts } from './broadcasts.ts'
import { CommandWaits } from './command-waits.ts'
import type { EngineHost } from './host.ts'
import { Gateways } from './ingress/gateways.ts'
import { Ingest } from './ingress/ingest.ts'
import { shareLanes } from './ingress/lanes.ts'
import { Watermark } from './ingress/watermark.ts'
import { Metrics } from './metrics.ts'
import { Leader } from './nodes/leader.ts'
import { LocalWork } from './nodes/local-work.ts'
import { joinOwners, type Membership, watchOwners } from './nodes/membership.ts'
import { Nodes } from './nodes/nodes.ts'
import { RemoteFeed } from './nodes/remote-feed.ts'
import { Performer } from './performer.ts'
import { Replies } from './replies.ts'
import { HistoryWriter } from './rows/history-writer.ts'
import { Inserter } from './rows/inserter.ts'
import { Settler } from './rows/settler.ts'
import { Assignment } from './runner/assignment.ts'
import { Runner } from './runner/runner.ts'
import { Sender } from './sender.ts'
import { unkeepable } from './shard/requests.ts'
import { Shards } from './shards.ts'
import { type ShardSignal, signalSink } from './signals.ts'

export interface EngineSettings {
  /** 0 on a node that owns no devices. */
  readonly shards: number
  /** Whether devices connect to this node. */
  readonly listens: boolean
  /** The address that clients are shown, if it differs from the broker's own. */
  readonly mqttUrl?: string | undefined
  readonly heartbeatTimeoutMs: number
  readonly build: { readonly version: string; readonly commit: string }
}

export type EngineParts = ReturnType<typeof composeEngine>

export function composeEngine(ports: Ports, settings: EngineSettings, host: EngineHost) {
  const { clock, log, store, telemetry, broker, cluster } = ports
  const { schedule, newId, warn, fatal } = host
  const { devices } = store
  const mesh = cluster?.mesh
  const ticks = () => clock.ticks()
  const metrics = new Metrics(settings.build)
  const signal = signalSink(metrics, { clock, warn })

  // What comes in.
  const ingest = new Ingest({ log, clock, schedule, fatal })
  const gateways = new Gateways(ingest, devices)
  const lanes =
    cluster?.lanes === undefined || !settings.listens
      ? undefined
      : shareLanes({ ...cluster.lanes, address: cluster.mesh.address, clock, schedule, newId, warn })
  const watermark = new Watermark({ ingest, log, mesh })
  const bootAt = ingest.nextAt()
  const incarnation = cluster === undefined ? bootAt.toString(36) : newId()

  // What goes out.
  const history = new HistoryWriter({
    outbox: store,
    telemetry,
    schedule,
    ticks,
    incarnation,
    signal,
    fatal,
  })
  const audit = new AuditBook({
    store,
    clock,
    nextNumber: () => ingest.nextAt(),
    stored: () => history.poke(),
    signal,
  })
  const record = async (entries: readonly AuditEntry[]): Promise<void> => {
    try {
      await audit.record(entries)
    } catch (error) {
      metrics.auditLost(entries.length)
      throw error
    }
  }
  const recordRefusal = (entry: AuditEntry) => audit.refuse(entry)
  const replies = new Replies(ticks)
  const waits = new CommandWaits()
  const onWant = (wants: Parameters<Shards['want']>[0]) => shards.want(wants)
  const feed = new RemoteFeed({ mesh, clock, schedule, onWant, signal })
  const sender = new Sender(broker, ingest, (error) => signal({ kind: 'send_failed', error }))
  const performer = new Performer({
    broker,
    gateways,
    history,
    sender,
    feed,
    waits,
    replies,
    recordRefusal,
    mesh,
  })

  // The shards between them.
  const settler = new Settler({
    store,
    telemetry,
    clock,
    flush: (horizon) => nodes.flush(horizon),
    isLeading: () => leader.isLeading(),
  })
  const inserters = Array.from(
    { length: settings.shards },
    () => new Inserter({ telemetry, schedule, ticks, signal }),
  )
  const assignments = inserters.map((inserter, shard) => {
    const report = (about: ShardSignal) => signal({ ...about, shard })
    let runners = 0
    const open = (claims: readonly Claim[], fenced: () => void) => {
      const partitions = claims.map(({ partition }) => partition)
      settler.look()
      return new Runner(
        {
          partitions,
          // Where one process has all partitions, nobody claims them.
          claims: cluster === undefined ? [] : claims,
          heartbeatTimeoutMs: settings.heartbeatTimeoutMs,
          // The sessions of a broker outside go on over a restart.
          bootAt: cluster?.lanes === undefined ? bootAt : Micros(0),
          incarnation: `${incarnation}-${shard}-${runners++}`,
        },
        { clock, schedule, log, store, inserter, openThread: host.openThread },
        {
          perform: (proposal) => performer.perform(proposal),
          fatal: (error) => {
            if (!(error instanceof Fault && error.code === 'STORE_FENCED')) return fatal(error)
            report({ kind: 'fenced', error })
            fenced()
          },
          horizon: () => settler.horizon(),
          now: () => ingest.now(),
          watermark: () => watermark.upTo(partitions),
          signal: report,
        },
      )
    }
    const claim = async (claims: readonly Claim[]) =>
      cluster === undefined ? undefined : store.claim(claims)
    return new Assignment({ store: { claim }, clock, schedule, open, signal: report })
  })
  const shards: Shards = new Shards(assignments, () => members?.isCertain() ?? true)

  // This node among the others.
  const leader: Leader = new Leader(
    shards,
    () =>
      new Broadcasts({
        store,
        broker,
        clock,
        schedule,
        submit,
        signal,
        commands: (deviceId) => nodes.ask({ kind: 'commands', deviceId }),
        children: (broadcastId) => nodes.ask({ kind: 'children', broadcastId }),
      }),
  )
  const members: Membership | undefined =
    cluster &&
    (settings.shards === 0 ? watchOwners : joinOwners)({
      cluster,
      clock,
      schedule,
      shards,
      newId,
      led: (isLeading) => {
        if (isLeading) void leader.begin()
        else leader.end()
      },
      failed: (error) => signal({ kind: 'owners_unknown', error }),
    })
  const here = new LocalWork({
    shards,
    ingest,
    replies,
    waits,
    settler,
    schedule,
    broadcasts: () => leader.broadcasts(),
    newRequestId: () => performer.requestId(newId()),
  })
  const others = cluster &&
    members && { mesh: cluster.mesh, addressOf: (partition: Partition) => members.addressOf(partition) }
  const nodes = new Nodes({ here, log, others, clock, schedule })

  async function submit(deviceId: DeviceId, request: DeviceRequest, signed: Signed): Promise<RequestOutcome> {
    const refused = unkeepable(request)
    if (refused !== undefined) {
      if (signed.entry !== undefined)
        await record([{ ...signed.entry, deviceId, outcome: 'refused', code: refused.code }])
      return refused
    }
    const work = { kind: 'submit', deviceId, request, signed } as const
    const submitted = await nodes.at(partitionOf(deviceId), work)
    if (submitted.kind === 'done') await devices.known(submitted.view.device)
    return submitted
  }

  return {
    metrics,
    signal,
    ingest,
    gateways,
    lanes,
    watermark,
    history,
    audit,
    record,
    recordRefusal,
    replies,
    waits,
    feed,
    performer,
    settler,
    inserters,
    shards,
    leader,
    members,
    nodes,
    submit,
  }
}
