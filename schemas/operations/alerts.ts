// /alerts: alerts, and what people do with them. Everyone may read, and operators act within their groups.
import {
  AckBody,
  AlertBody,
  AlertDetail,
  AlertListQuery,
  AlertPage,
  AlertParams,
  AlertSummary,
  AssignBody,
  BulkAlertsBody,
  BulkAlertsResult,
  CommentBody,
  ResolveBody,
  SnoozeBody,
} from '../alert.ts'
import { API, type Operation } from '../operation.ts'
import { ROLES } from '../vocabulary.ts'

const PATH = `${API}/alerts` as const
const ACT = {
  tag: 'alerts',
  method: 'POST',
  access: ['admin', 'operator'],
  scope: 'target',
  params: AlertParams,
  replies: { 200: AlertBody },
} as const
const REFUSALS = ['NOT_FOUND', 'INVALID_STATE_TRANSITION', 'LIMIT_REACHED'] as const

export const listAlerts = {
  tag: 'alerts',
  method: 'GET',
  path: PATH,
  operationId: 'listAlerts',
  summary: 'List alerts, by default the open ones',
  description:
    'Open alerts, and resolved ones for as long as `FLEET_ALERT_RETENTION_DAYS` says. The last 16 resolved ones of each device are there at once, and the only ones while the history cannot be read; older ones have their comments in `GET /alerts/{alert_id}` only.',
  access: ROLES,
  scope: 'list',
  query: AlertListQuery,
  replies: { 200: AlertPage },
} as const satisfies Operation

export const getAlertSummary = {
  tag: 'alerts',
  method: 'GET',
  path: `${PATH}/summary`,
  operationId: 'getAlertSummary',
  summary: 'Count the open alerts',
  access: ROLES,
  scope: 'list',
  replies: { 200: AlertSummary },
} as const satisfies Operation

export const getAlert = {
  tag: 'alerts',
  method: 'GET',
  path: `${PATH}/{alert_id}`,
  operationId: 'getAlert',
  summary: 'Read an alert with its moves',
  access: ROLES,
  scope: 'target',
  params: AlertParams,
  replies: { 200: AlertDetail },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const ackAlert = {
  ...ACT,
  path: `${PATH}/{alert_id}/ack`,
  operationId: 'ackAlert',
  summary: 'Acknowledge an alert: nobody is reminded of it any more',
  body: AckBody,
  bodyOptional: true,
  refusals: REFUSALS,
} as const satisfies Operation

export const unackAlert = {
  ...ACT,
  path: `${PATH}/{alert_id}/unack`,
  operationId: 'unackAlert',
  summary: 'Take an acknowledgement back',
  refusals: REFUSALS,
} as const satisfies Operation

export const resolveAlert = {
  ...ACT,
  path: `${PATH}/{alert_id}/resolve`,
  operationId: 'resolveAlert',
  summary: 'Resolve an alert by hand',
  description:
    'There is no new alert of the rule before its condition was false once, or `snooze_sec` have passed.',
  body: ResolveBody,
  bodyOptional: true,
  refusals: REFUSALS,
} as const satisfies Operation

export const snoozeAlert = {
  ...ACT,
  path: `${PATH}/{alert_id}/snooze`,
  operationId: 'snoozeAlert',
  summary: 'Remind nobody of an alert for a time',
  description:
    'It is judged all the same. If it still fires afterwards, its channels are reminded. A level that is raised ends it.',
  body: SnoozeBody,
  refusals: REFUSALS,
} as const satisfies Operation

export const unsnoozeAlert = {
  ...ACT,
  method: 'DELETE',
  path: `${PATH}/{alert_id}/snooze`,
  operationId: 'unsnoozeAlert',
  summary: 'End the snooze of an alert',
  refusals: REFUSALS,
} as const satisfies Operation

export const bulkAlerts = {
  tag: 'alerts',
  method: 'POST',
  path: `${PATH}/bulk`,
  operationId: 'bulkAlerts',
  summary: 'Acknowledge, snooze, resolve or assign many alerts',
  description: 'Each alert has a result of its own. What the caller may not see is `NOT_FOUND`.',
  access: ['admin', 'operator'],
  scope: 'target',
  body: BulkAlertsBody,
  replies: { 200: BulkAlertsResult },
  refusals: [],
} as const satisfies Operation

export const assignAlert = {
  ...ACT,
  path: `${PATH}/{alert_id}/assign`,
  operationId: 'assignAlert',
  summary: 'Assign an alert to a user, or to nobody',
  body: AssignBody,
  refusals: REFUSALS,
} as const satisfies Operation

export const commentAlert = {
  ...ACT,
  path: `${PATH}/{alert_id}/comments`,
  operationId: 'commentAlert',
  summary: 'Comment on an alert',
  body: CommentBody,
  refusals: REFUSALS,
} as const satisfies Operation
