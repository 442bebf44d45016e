// /telemetry: the latest of a device, and its past in buckets.
import { DeviceParams } from '../device.ts'
import { API, type Operation } from '../operation.ts'
import { History, HistoryQuery, SnapshotBody } from '../telemetry.ts'
import { ROLES } from '../vocabulary.ts'

const SHARED = {
  method: 'GET',
  tag: 'telemetry',
  access: ROLES,
  scope: 'device',
  params: DeviceParams,
  refusals: ['NOT_FOUND'],
} as const

export const getTelemetry = {
  ...SHARED,
  path: `${API}/telemetry/{device_id}`,
  operationId: 'getTelemetry',
  summary: 'The latest telemetry of a device',
  replies: { 200: SnapshotBody },
} as const satisfies Operation

export const getTelemetryHistory = {
  ...SHARED,
  path: `${API}/telemetry/{device_id}/history`,
  operationId: 'getTelemetryHistory',
  summary: 'The past of one metric, in buckets',
  query: HistoryQuery,
  replies: { 200: History },
} as const satisfies Operation
