// For tests: any work of a node for deployments and alerts.
import fc from 'fast-check'
import { AlertId, DeploymentId, FirmwareId, Millis, RuleId } from '../../../../schemas/ids.ts'
import type { AlertAct } from '../../../domain/alert/acts.ts'
import type { AlertsQuery } from '../../../domain/alert/query.ts'
import { deployment } from '../../../domain/ota/testing/deployment.ts'
import type { AlertChange } from '../../../ports/alerts.ts'
import type { DeploymentRequest } from '../../../ports/deployments.ts'
import { idOf } from '../../shard/testing/items.ts'
import { count, name, optional } from './small-arbitraries.ts'

const deviceId = fc.constantFrom('d1', 'robot-2').map(idOf)
const deploymentId = name.map(DeploymentId)
const deploymentRequest: fc.Arbitrary<DeploymentRequest> = fc.record({
  id: deploymentId,
  kind: fc.constantFrom('install' as const, 'rollback' as const),
  spec: fc.constant(deployment().spec),
  firmwareId: name.map(FirmwareId),
  members: fc.oneof(
    fc.record({ kind: fc.constant('named' as const), deviceIds: fc.array(deviceId) }),
    fc.record({ kind: fc.constant('matching' as const), filter: fc.record({ group: name }) }),
  ),
  by: name,
  mayPassBlocks: fc.boolean(),
  expectedTotal: optional(count),
})
const alertChange: fc.Arbitrary<AlertChange> = fc.oneof(
  fc.record({
    kind: fc.constant('create_rule' as const),
    id: name,
    wish: fc.record({
      name,
      target: fc.constant({ type: 'all' as const }),
      condition: fc.constant({ kind: 'state' as const, in: ['offline' as const] }),
    }),
    by: name,
  }),
  fc.record({
    kind: fc.constant('edit_rule' as const),
    id: name.map(RuleId),
    wish: fc.record({ name }),
    isWhole: fc.boolean(),
    ifRevision: optional(count),
  }),
  fc.record({
    kind: fc.constant('delete_rule' as const),
    id: name.map(RuleId),
    ifRevision: optional(count),
  }),
  fc.record({ kind: fc.constant('end_silence' as const), id: name }),
)

export const anyDeploymentWork = fc.oneof(
  fc.record({ kind: fc.constant('deployment_create' as const), request: deploymentRequest }),
  fc.record({ kind: fc.constant('deployment_plan' as const), request: deploymentRequest }),
  fc.record({ kind: fc.constant('deployment_list' as const), deviceId: optional(deviceId) }),
  fc.record({ kind: fc.constant('deployment_get' as const), id: deploymentId }),
  fc.record({
    kind: fc.constant('deployment_act' as const),
    id: deploymentId,
    action: fc.constantFrom('pause', 'resume', 'cancel', 'approve'),
  }),
  fc.record({
    kind: fc.constant('deployment_members' as const),
    id: deploymentId,
    query: fc.record({
      offset: count,
      limit: count,
      status: optional(name),
      held: optional(name),
      q: optional(name),
    }),
  }),
)

const within = optional(fc.array(name))
const alertsQuery: fc.Arbitrary<AlertsQuery> = fc.record({
  states: fc.constant(['firing' as const]),
  severities: optional(fc.constant(['critical' as const])),
  alertId: optional(name.map(AlertId)),
  group: optional(name),
  within,
  ruleId: optional(name.map(RuleId)),
  snoozed: optional(fc.boolean()),
  sort: fc.constant('fired_at' as const),
  descending: fc.boolean(),
  limit: count,
})
const alertAct: fc.Arbitrary<AlertAct> = fc.oneof(
  fc.record({ kind: fc.constant('ack' as const), comment: optional(name) }),
  fc.record({ kind: fc.constantFrom('unack' as const, 'unsnooze' as const) }),
  fc.record({ kind: fc.constant('resolve' as const), comment: optional(name), snoozeSec: optional(count) }),
  fc.record({ kind: fc.constant('snooze' as const), until: count.map(Millis) }),
  fc.record({ kind: fc.constant('assign' as const), userId: optional(name) }),
  fc.record({ kind: fc.constant('comment' as const), text: name }),
)

export const anyAlertWork = fc.oneof(
  fc.record({ kind: fc.constant('alert_change' as const), change: alertChange }),
  fc.record({ kind: fc.constant('fleet_alerts' as const), query: alertsQuery }),
  fc.record({ kind: fc.constant('fleet_alert_counts' as const), within }),
  fc.record({
    kind: fc.constant('fleet_alert_act' as const),
    id: name.map(AlertId),
    act: alertAct,
    by: fc.record({ kind: fc.constantFrom('user' as const, 'system' as const), id: name }),
  }),
)
