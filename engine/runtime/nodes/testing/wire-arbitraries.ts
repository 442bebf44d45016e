// For tests: any work of a node, and anything that may come of it.
import fc from 'fast-check'
import { BroadcastId, CommandId, FirmwareId, Micros, Millis, Partition } from '../../../../schemas/ids.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import {
  COMMAND_PRIORITIES,
  COMMAND_STATUSES,
  FIRMWARE_STATUSES,
  SIGNATURE_ALGS,
} from '../../../../schemas/vocabulary.ts'
import { anyDevice } from '../../../adapters/store/testing/device-arbitraries.ts'
import { NO_ALERT_COUNTS } from '../../../domain/alert/alert-results.ts'
import { type Broadcast, tally } from '../../../domain/command/broadcast.ts'
import type { Command, Delivery } from '../../../domain/command/record.ts'
import type { DeviceRequest } from '../../../domain/device/events.ts'
import type { FirmwareRecord } from '../../../domain/ota/firmware-record.ts'
import { deployment } from '../../../domain/ota/testing/deployment.ts'
import type { Author, Shadow } from '../../../domain/shadow/record.ts'
import type { DeviceView } from '../../../ports/device-view.ts'
import type { Authorship, BroadcastRequest, BroadcastState, RequestOutcome } from '../../../ports/engine.ts'
import type { EngineRefusal } from '../../../ports/engine-refusal.ts'
import type { Answer, Ask, Position } from '../../shard/protocol.ts'
import { idOf } from '../../shard/testing/items.ts'
import type { NodeOutcomes, NodeWork } from '../work.ts'
import { anyChannelAnswer, anyChannelCall } from './channel-arbitraries.ts'
import { anyAlertWork, anyDeploymentWork } from './deployment-arbitraries.ts'
import { count, name, optional } from './small-arbitraries.ts'

const millis = fc.nat({ max: 2 ** 42 }).map(Millis)
const micros = fc.nat({ max: 2 ** 52 }).map(Micros)
const deviceId = fc.constantFrom('d1', 'robot-2', 'A_3').map(idOf)
const commandId = name.map(CommandId)
const broadcastId = name.map(BroadcastId)
const partition = fc.nat({ max: 63 }).map(Partition)

/** Includes names that mean something to JavaScript, except `__proto__`, which is refused earlier. */
const key = fc.oneof(
  fc.string({ maxLength: 6 }).filter((text) => text !== '__proto__'),
  fc.constantFrom('toJSON', 'constructor', 'length', 'hasOwnProperty'),
)
const { data } = fc.letrec<{ data: JsonObject; value: Json }>((tie) => ({
  data: fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constant(null),
    fc.boolean(),
    // JSON has no -0.
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    fc.maxSafeInteger(),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('data'),
  ),
}))

const author: fc.Arbitrary<Author> = fc.record({
  kind: fc.constantFrom('user', 'device', 'system', 'ota'),
  id: name,
})
const signed: fc.Arbitrary<Authorship> = fc.oneof(
  author,
  name,
  fc.record({
    by: fc.oneof(author, name),
    entry: fc.record(
      {
        actor: fc.record({ type: fc.constantFrom('user', 'api_key', 'device'), id: optional(name) }),
        action: name,
        target: name,
        ip: optional(name),
        detail: data,
      },
      { requiredKeys: ['actor', 'action'] },
    ),
  }),
) as fc.Arbitrary<Authorship>

const wish = fc.record(
  {
    name,
    data,
    priority: fc.constantFrom(...COMMAND_PRIORITIES),
    timeoutSec: optional(count),
    notBefore: optional(millis),
    broadcastId: optional(broadcastId),
  },
  { requiredKeys: ['name'] },
)
const deviceRequest: fc.Arbitrary<DeviceRequest> = fc.oneof(
  fc.record(
    { kind: fc.constant('register' as const), name, type: name, tags: fc.array(name), metadata: data },
    { requiredKeys: ['kind', 'name', 'type'] },
  ),
  fc.record(
    {
      kind: fc.constant('edit' as const),
      replace: fc.boolean(),
      group: fc.option(name),
      metadata: fc.option(data),
      status: optional(name),
      ifRevision: optional(count),
    },
    { requiredKeys: ['kind', 'replace'] },
  ),
  fc.record({ kind: fc.constant('decommission' as const), reason: optional(name) }),
  fc.record({
    kind: fc.constant('desire' as const),
    patch: data,
    mode: fc.constantFrom('merge' as const, 'replace' as const),
    expectedVersion: optional(count),
  }),
  fc.record({ kind: fc.constant('command' as const), id: commandId, wish }),
  fc.record({ kind: fc.constant('cancel' as const), id: commandId }),
  fc.record({ kind: fc.constant('revoke' as const), ifRevision: optional(fc.nat()) }),
  fc.record({ kind: fc.constant('purge' as const), createdAt: millis }),
)
const status = fc.constantFrom(...COMMAND_STATUSES)
const ask: fc.Arbitrary<Ask> = fc.oneof(
  fc.record({ kind: fc.constant('views' as const), deviceIds: fc.array(deviceId) }),
  fc.record({ kind: fc.constantFrom('snapshot', 'metrics', 'shadow', 'commands'), deviceId }),
  fc.record({ kind: fc.constant('children' as const), broadcastId }),
  fc.record({
    kind: fc.constant('kept_commands' as const),
    query: fc.record({ name: optional(name), statuses: optional(fc.array(status)), limit: count }),
  }),
  fc.record({
    kind: fc.constant('named_commands' as const),
    commands: fc.array(fc.record({ createdAt: millis, commandId, deviceId })),
  }),
)
const after: fc.Arbitrary<readonly Position[]> = fc.array(
  fc.record({ partition, seq: fc.nat({ max: Number.MAX_SAFE_INTEGER }) }),
)
const broadcastRequest: fc.Arbitrary<BroadcastRequest> = fc.record(
  {
    broadcastId,
    group: name,
    chosen: optional(
      fc.record({
        target: fc.record({ type: name, value: fc.array(name) }),
        members: fc.record({ kind: fc.constant('named' as const), deviceIds: fc.array(deviceId) }),
      }),
    ),
    expectedTotal: optional(count),
    command: name,
    data: optional(data),
    priority: fc.constantFrom(...COMMAND_PRIORITIES),
    timeoutSec: optional(count),
    by: name,
    within: optional(fc.array(name)),
    unfit: fc.dictionary(
      name.filter((text) => text !== '__proto__'),
      fc.constant('unknown_command'),
      {
        noNullPrototype: true,
      },
    ),
  },
  { requiredKeys: ['broadcastId', 'group', 'command', 'by'] },
)

const firmware: fc.Arbitrary<FirmwareRecord> = fc.record({
  id: name.map(FirmwareId),
  version: name,
  deviceType: name,
  changelog: fc.string({ unit: 'grapheme' }),
  filename: name,
  sizeBytes: fc.maxSafeInteger(),
  contentType: name,
  sha256: name,
  imageKey: name,
  signature: optional(fc.record({ value: name, alg: fc.constantFrom(...SIGNATURE_ALGS) })),
  signatureVerified: optional(fc.boolean()),
  minFromVersion: optional(name),
  fromVersions: fc.array(name),
  reportsAs: name,
  status: fc.constantFrom(...FIRMWARE_STATUSES),
  uploadedBy: name,
  createdAt: millis,
  updatedAt: millis,
  revision: count,
})

export const anyWork: fc.Arbitrary<NodeWork> = fc.oneof(
  fc.record({ kind: fc.constant('submit' as const), deviceId, request: deviceRequest, signed }),
  fc.record({ kind: fc.constant('purge' as const), deviceId, createdAt: millis, signed }),
  fc.record({ kind: fc.constant('ask' as const), ask, after, partitions: fc.array(partition) }),
  fc.record({ kind: fc.constant('await' as const), deviceId, commandId, after, timeoutMs: count }),
  fc.record({ kind: fc.constant('broadcast' as const), request: broadcastRequest }),
  fc.record({
    kind: fc.constant('broadcast_state' as const),
    broadcastId,
    offset: count,
    limit: count,
    statuses: optional(fc.array(status)),
    within: optional(fc.array(name)),
  }),
  fc.record({
    kind: fc.constant('broadcast_list' as const),
    query: fc.record({ offset: count, limit: count, by: name, within: optional(fc.array(name)) }),
  }),
  fc.record({ kind: fc.constant('broadcast_cancel' as const), broadcastId, by: name }),
  fc.record({ kind: fc.constant('firmware_add' as const), firmware }),
  fc.record({
    kind: fc.constant('firmware_edit' as const),
    editing: fc.record({
      id: name.map(FirmwareId),
      changelog: optional(name),
      status: optional(fc.constantFrom(...FIRMWARE_STATUSES)),
      revision: optional(count),
      force: fc.boolean(),
    }),
  }),
  fc.record({
    kind: fc.constant('firmware_remove' as const),
    removal: fc.record({ id: name.map(FirmwareId), revision: optional(count), force: fc.boolean() }),
  }),
  anyDeploymentWork,
  fc.record({ kind: fc.constant('image_missing' as const), firmwareId: name.map(FirmwareId) }),
  fc.record({ kind: fc.constant('channels' as const), call: anyChannelCall }),
  anyAlertWork,
  fc.record({ kind: fc.constant('figures' as const) }),
  fc.record({ kind: fc.constant('flush' as const), horizon: millis, partitions: fc.array(partition) }),
)

const view: fc.Arbitrary<DeviceView> = fc.record({
  device: anyDevice,
  connected: fc.boolean(),
  connectedSince: optional(millis),
  connectionReason: optional(name),
  sessionId: optional(name),
  ip: optional(name),
  subscriptions: optional(fc.subarray(['command', 'ota'])),
  flapping: fc.boolean(),
  lastSeenAt: optional(millis),
  lastTelemetryAt: optional(millis),
})
const delivery: fc.Arbitrary<Delivery> = fc.record({
  attempts: count,
  sentAt: optional(millis),
  sentIn: optional(micros),
  deliveredAt: optional(millis),
})
const result = {
  executedAt: optional(millis),
  result: optional(data),
  resultBytesOmitted: optional(count),
  error: optional(fc.record({ code: name, message: name })),
}
const command: fc.Arbitrary<Command> = fc.record({
  ...result,
  id: commandId,
  name,
  data,
  dataBytes: count,
  status,
  priority: fc.constantFrom(...COMMAND_PRIORITIES),
  timeoutSec: count,
  createdAt: millis,
  createdBy: name,
  notBefore: optional(millis),
  expiresAt: millis,
  delivery,
  deliveredAt: optional(millis),
  ackedAt: optional(millis),
  completedAt: optional(millis),
  cancelledAt: optional(millis),
  cancelledBy: optional(name),
  notice: optional(delivery.map((sent) => ({ ...sent, expiresAt: Millis(1) }))),
  progress: optional(count),
  late: fc.boolean(),
  conflicts: fc.array(fc.record({ ...result, status, at: millis }), { maxLength: 2 }),
  broadcastId: optional(broadcastId),
  idempotencyKey: optional(name),
})
const shadow: fc.Arbitrary<Shadow> = fc.record({
  version: count,
  desired: data,
  reported: data,
  desiredTimes: fc.constant({ a: Millis(1), b: { c: Millis(2) } }),
  reportedTimes: fc.constant({}),
  updatedAt: optional(millis),
})
const refused: fc.Arbitrary<EngineRefusal> = fc.record({
  kind: fc.constant('refused' as const),
  code: fc.constantFrom('NOT_FOUND', 'DEVICE_SHADOW_CONFLICT'),
  detail: data,
})
const submitted: fc.Arbitrary<RequestOutcome> = fc.oneof(
  fc.record({
    kind: fc.constant('done' as const),
    view,
    command: optional(command),
    shadow: optional(shadow),
  }),
  refused,
)
const answer: fc.Arbitrary<Answer> = fc.oneof(
  fc.array(optional(view), { maxLength: 4 }),
  optional(fc.record({ data, timestamp: optional(millis), seq: fc.nat() })),
  fc.array(fc.record({ metric: name, value: data, at: millis })),
  shadow,
  fc.array(command, { maxLength: 3 }),
  fc.array(fc.record({ deviceId, commandId, status })),
)
const broadcast: fc.Arbitrary<Broadcast> = fc.record({
  id: broadcastId,
  group: name,
  name,
  data,
  priority: fc.constantFrom(...COMMAND_PRIORITIES),
  timeoutSec: optional(count),
  createdAt: millis,
  createdBy: name,
  total: count,
  accepted: count,
  skipped: fc.array(fc.record({ deviceId, reason: fc.constant('queue_full' as const) })),
  perSec: optional(count),
})
const state: fc.Arbitrary<BroadcastState | undefined> = optional(
  fc.record({
    broadcast,
    counts: fc.array(status).map(tally),
    commands: fc.array(fc.record({ deviceId, command }), { maxLength: 2 }),
    matching: count,
  }),
)

const deploymentState = { deployment: deployment(), held: { offline: 2 }, window: 10 }

export const anyOutcome: { readonly [Kind in keyof NodeOutcomes]: fc.Arbitrary<NodeOutcomes[Kind]> } = {
  submit: submitted,
  figures: fc.record({
    version: name,
    startedAt: millis,
    isLeading: fc.boolean(),
    dependencies: fc.array(fc.record({ name, ok: fc.boolean(), detail: name }), { maxLength: 2 }),
    partitions: fc.array(fc.record({ partition: fc.nat(63).map(Partition), lagMs: optional(count) })),
    messagesPerSec: count,
    pointsPerSec: count,
    insertP99Ms: optional(count),
    samples: fc.dictionary(name, count),
  }),
  ask: answer,
  await: optional(command),
  broadcast: fc.oneof(fc.record({ kind: fc.constant('done' as const), broadcast }), refused),
  broadcast_state: state,
  broadcast_list: fc.record({
    broadcasts: fc.array(fc.record({ broadcast, counts: fc.array(status).map(tally) }), { maxLength: 2 }),
    total: count,
  }),
  broadcast_cancel: state,
  firmware_add: fc.oneof(
    fc.record({ kind: fc.constant('done' as const), record: firmware, isNew: fc.boolean() }),
    refused,
  ),
  firmware_edit: fc.oneof(fc.record({ kind: fc.constant('done' as const), record: firmware }), refused),
  firmware_remove: fc.oneof(fc.record({ kind: fc.constant('done' as const), record: firmware }), refused),
  deployment_create: fc.oneof(fc.constant({ kind: 'done' as const, state: deploymentState }), refused),
  deployment_plan: fc.oneof(
    fc.constant({ kind: 'planned' as const, members: { stages: [[idOf('d1')]], skipped: [] } }),
    refused,
  ),
  deployment_list: fc.array(fc.constant(deploymentState)),
  deployment_get: optional(fc.constant(deploymentState)),
  deployment_act: fc.oneof(fc.constant({ kind: 'done' as const, state: deploymentState }), refused),
  deployment_members: optional(
    fc.record({
      jobs: fc.array(
        fc.record({
          kind: fc.constant('skipped' as const),
          deviceId,
          reason: fc.constant('blocked' as const),
        }),
      ),
      total: count,
    }),
  ),
  purge: refused,
  image_missing: fc.constant(undefined),
  channels: anyChannelAnswer(refused),
  alert_change: refused,
  fleet_alerts: fc.record({ total: count, alerts: fc.array(data, { maxLength: 2 }) }),
  fleet_alert_counts: fc.constant(NO_ALERT_COUNTS),
  fleet_alert_act: fc.oneof(fc.constant({ kind: 'acted' as const }), refused),
  flush: fc.constant(undefined),
}
