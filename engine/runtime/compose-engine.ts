// Creates the parts of an engine, each after the parts that it needs. Where two parts need each other, the earlier one
// gets a function that looks the later one up.

import type { DeviceId, Partition } from '../../schemas/ids.ts'
import { Micros, toMillis } from '../../schemas/ids.ts'
import type { Rule } from '../domain/alert/rule.ts'
import type { AuditEntry } from '../domain/audit/entry.ts'
import type { DeviceRequest } from '../domain/device/events.ts'
import type { HeartbeatTimeouts } from '../domain/device/heartbeat.ts'
import { LIMITS } from '../limits.ts'
import type { Authorship, Ports, RequestOutcome } from '../ports/engine.ts'
import type { OtaSettings } from '../ports/ota.ts'
import { type DeadLetter, NO_SAVE } from '../ports/store.ts'
import { AlertBook } from './alerts/alert-book.ts'
import { NO_OUTBOUND } from './alerts/no-outbound.ts'
import { AuditBook } from './audit-book.ts'
import { auditEvents } from './audit-events.ts'
import { CommandWaits } from './command-waits.ts'
import { composeLeaderServices } from './compose-leader-services.ts'
import { composeShards } from './compose-shards.ts'
import { DeploymentCache } from './deployments/deployment-cache.ts'
import { OTA_AUTHOR } from './deployments/orchestrator.ts'
import { ErrorPublisher } from './error-publisher.ts'
import { LiveFleet } from './fleet/live-fleet.ts'
import type { ComposingHost } from './host.ts'
import { Gateways } from './ingress/gateways.ts'
import { Ingest } from './ingress/ingest.ts'
import { shareLanes } from './ingress/lanes.ts'
import { TokenIssuer } from './ingress/token-issuer.ts'
import { Watermark } from './ingress/watermark.ts'
import { Metrics } from './metrics.ts'
import { Leader } from './nodes/leader.ts'
import { LocalWork } from './nodes/local-work.ts'
import { joinOwners, type Membership, watchOwners } from './nodes/membership.ts'
import { LEADER_PARTITION, Nodes } from './nodes/nodes.ts'
import { RemoteFeed } from './nodes/remote-feed.ts'
import { composeOta } from './ota/compose-ota.ts'
import { OtaMessages } from './ota/ota-messages.ts'
import { Performer } from './performer.ts'
import { Replies } from './replies.ts'
import { HistoryWriter } from './rows/history-writer.ts'
import { Inserter } from './rows/inserter.ts'
import { Settler } from './rows/settler.ts'
import { onlyLetters } from './runner/poison-messages.ts'
import { Sender } from './sender.ts'
import { refuseUnstorable } from './shard/requests.ts'
import { Shards } from './shards.ts'
import { signalSink } from './signals.ts'

export interface EngineSettings extends HeartbeatTimeouts {
  /** 0 on a node that owns no devices. */
  readonly shards: number
  /** Whether devices connect to this node. */
  readonly listens: boolean
  /** The address that clients are shown, if it differs from the broker's own. */
  readonly mqttUrl?: string | undefined
  readonly ota: OtaSettings
  /** Alert rules that the device types ask for. */
  readonly typeRules?: readonly Rule[] | undefined
  readonly build: { readonly version: string; readonly commit: string }
}

export type EngineParts = ReturnType<typeof composeEngine>

export function composeEngine(ports: Ports, settings: EngineSettings, host: ComposingHost) {
  const { clock, log, store, telemetry, broker, cluster } = ports
  const { schedule, newId, warn, fatal } = host
  const outbound = ports.outbound ?? NO_OUTBOUND
  const { devices } = store
  const mesh = cluster?.mesh
  const ticks = () => clock.ticks()
  const metrics = new Metrics(settings.build)
  const signal = signalSink(metrics, { clock, warn })

  // What comes in.
  const ingest = new Ingest({ log, clock, schedule, fatal, isOutside: cluster?.lanes !== undefined })
  const gateways = new Gateways(ingest, devices)
  const lanes =
    cluster?.lanes === undefined || !settings.listens
      ? undefined
      : shareLanes({
          ...{ ...cluster.lanes, address: cluster.mesh.address, clock, schedule },
          ...{ newId, receiveTimes: ingest, warn },
        })
  const watermark = new Watermark({
    ...{ ingest, log, mesh },
    unreadable: (error) => signal({ kind: 'news_unreadable', error }),
  })
  const heardUntil = log.latestAt()
  const bootAt = ingest.nextAt()
  const wasAway = heardUntil > 0 && bootAt - heardUntil > LIMITS.awayMs * 1_000
  const incarnation = cluster === undefined ? bootAt.toString(36) : newId()

  // What goes out.
  const history = new HistoryWriter({
    outbox: store,
    telemetry,
    schedule,
    ticks,
    signal,
    fatal,
  })
  const audit = new AuditBook({
    store,
    clock,
    writer: store.writer,
    stored: (rows) => {
      history.poke()
      feed.publish(auditEvents(rows))
    },
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
  const otaMessages = new OtaMessages(
    { get: (id) => ota.library.get(id) },
    { sendable: (firmware, about) => ota.artifacts.sendable(firmware, about) },
  )
  const sendFailed = (error: unknown) => signal({ kind: 'send_failed', error })
  const sender = new Sender({ broker, ingest, otaMessages, clock, schedule, failed: sendFailed })
  const errors = new ErrorPublisher({ broker, now: () => ingest.now(), failed: sendFailed })
  const tokenIssuer = new TokenIssuer({
    broker,
    now: () => ingest.now(),
    failed: sendFailed,
    issue: host.issueToken ?? (async () => undefined),
    publishError: (message) => errors.send(message),
    recordAudit: (entry) =>
      void record([entry]).catch((error: unknown) => signal({ kind: 'audit_lost', entries: 1, error })),
  })
  const performer = new Performer({
    broker,
    gateways,
    history,
    sender,
    errors,
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
    claims: () => (cluster === undefined ? [] : shards.claimsOf(LEADER_PARTITION)),
    isLeading: () => leader.isLeading(),
  })
  const park = async (deadLetters: readonly DeadLetter[]): Promise<void> => {
    await store.save({ ...NO_SAVE, deadLetters })
    // A letter's id is its message's place in the log, so a letter that another owner finds again is kept only once.
    performer.perform(onlyLetters(deadLetters), () => true)
  }
  const inserters = Array.from(
    { length: settings.shards },
    () => new Inserter({ telemetry, schedule, ticks, signal, park }),
  )
  const assignments = composeShards(inserters, {
    ...{ clock, log, store, schedule, openThread: host.openThread },
    ...{ settings, incarnation, ingest, watermark, settler, metrics, performer, signal, fatal },
    isClaimed: cluster !== undefined,
    // Sessions on a broker outside survive a restart.
    bootAt: cluster?.lanes === undefined ? bootAt : Micros(0),
    resumedAt: cluster?.lanes === undefined && wasAway ? toMillis(bootAt) : undefined,
    mayAct: (claim) => members === undefined || (claim !== undefined && members.mayAct(claim)),
  })
  const shards: Shards = new Shards(assignments, () => members?.isCertain() ?? true)

  const alertBook = new AlertBook({
    documents: store.documents,
    schedule,
    typeRules: settings.typeRules ?? [],
    publish: (rules) => shards.rule(rules),
    failed: (error) => signal({ kind: 'duty_failed', error }),
  })

  const failed = (error: unknown) => signal({ kind: 'duty_failed', error })
  // This node among the others.
  const leader: Leader = new Leader({
    ...{ shards, schedule, failed },
    createServices: (claims) =>
      composeLeaderServices(claims, {
        ...{ store, telemetry, broker, clock, outbound, schedule, signal, metrics },
        ...{ ota, alertBook, nodes, settler, feed, submit, record, failed },
        logNow: () => ingest.now(),
        downloadsMax: settings.ota.downloadsMax,
        retentionMs: settings.ota.retentionMs,
        dice: host.dice ?? Math.random,
        rowsStored: () => history.poke(),
      }),
  })
  const members: Membership | undefined =
    cluster &&
    (settings.shards === 0 ? watchOwners : joinOwners)({
      cluster,
      clock,
      ...{ schedule, shards, newId, receiveTimes: ingest },
      leadershipChanged: (isLeading) => {
        if (isLeading) void leader.begin()
        else leader.end()
      },
      failed: (error) => signal({ kind: 'owners_unknown', error }),
      isHealthy: () => store.isUp() && telemetry.isUp(),
      fitnessChanged: (isUnfit) => signal({ kind: isUnfit ? 'unfit' : 'fit' }),
    })
  const localWork = new LocalWork({
    shards,
    ingest,
    replies,
    waits,
    settler,
    ...{ schedule, figures: host.figures },
    leaderServices: () => leader.services(),
    newRequestId: () => performer.requestId(newId()),
  })
  const peers = cluster &&
    members && { mesh: cluster.mesh, addressOf: (partition: Partition) => members.addressOf(partition) }
  const nodes = new Nodes({ localWork, log, peers, clock, schedule })
  const deployments = new DeploymentCache({
    ...{ documents: store.documents, schedule, clock, feed },
    firmwareOf: (deviceIds) => nodes.ask({ kind: 'firmware', deviceIds }),
    refused: ({ deviceId, deploymentId }) =>
      submit(deviceId, { kind: 'ota_refused', deploymentId }, { by: OTA_AUTHOR }),
    sent: ({ deviceId, deploymentId }, bytes) =>
      submit(deviceId, { kind: 'ota_sent', deploymentId, bytes }, { by: OTA_AUTHOR }),
    began: ({ deviceId, deploymentId }) =>
      submit(deviceId, { kind: 'ota_began', deploymentId }, { by: OTA_AUTHOR }),
    imageMissing: (firmwareId) => nodes.runAtOwner(LEADER_PARTITION, { kind: 'image_missing', firmwareId }),
    wayBackOf: async (id) => (await leader.services()).deployments.wayBackOf(id),
    abort: async (id) => {
      const services = await leader.services()
      await services.deployments.abortAll(({ firmware }) => firmware.id === id, 'firmware_yanked')
    },
    failed: (error) => signal({ kind: 'deployments_stalled', error }),
  })
  const ota = composeOta({
    ...{ store, blobs: ports.blobs, clock, schedule, newId, settings: settings.ota },
    leader: {
      add: (firmware) => nodes.runAtOwner(LEADER_PARTITION, { kind: 'firmware_add', firmware }),
      edit: (editing) => nodes.runAtOwner(LEADER_PARTITION, { kind: 'firmware_edit', editing }),
      remove: (removal) => nodes.runAtOwner(LEADER_PARTITION, { kind: 'firmware_remove', removal }),
    },
    ...{ use: deployments, jobs: deployments },
    failed: (error) => signal({ kind: 'images_failed', error }),
  })

  async function submit(
    deviceId: DeviceId,
    request: DeviceRequest,
    signed: Authorship,
  ): Promise<RequestOutcome> {
    const refused = refuseUnstorable(request)
    if (refused !== undefined) {
      if (signed.entry !== undefined)
        await record([{ ...signed.entry, deviceId, outcome: 'refused', code: refused.code }])
      return refused
    }
    const work = { kind: 'submit', deviceId, request, signed } as const
    const submitted = await nodes.runForDevice(deviceId, work)
    if (submitted.kind === 'done') await devices.untilSeen(submitted.view.device)
    return submitted
  }

  return {
    metrics,
    signal,
    ota,
    deployments,
    ingest,
    gateways,
    lanes,
    watermark,
    history,
    audit,
    record,
    recordRefusal,
    errors,
    tokenIssuer,
    replies,
    waits,
    feed,
    performer,
    settler,
    inserters,
    shards,
    alertBook,
    fleet: new LiveFleet({
      ...{ clock, schedule, id: newId },
      ask: (known) => nodes.ask({ kind: 'fleet', known }),
      latest: (query) => nodes.ask({ kind: 'latest', ...query }),
      deploymentsActive: () => deployments.active(),
      failed: (error) => signal({ kind: 'duty_failed', error }),
    }),
    leader,
    members,
    nodes,
    submit,
  }
}
