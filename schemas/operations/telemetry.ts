// /telemetry: the latest values of a device, its history, and that of groups.
import { DeviceParams } from '../device.ts'
import { API, type Operation } from '../operation.ts'
import {
  AnyHistory,
  FleetQuery,
  FleetTelemetry,
  HistoryQuery,
  MetricList,
  SnapshotBody,
} from '../telemetry.ts'
import { EXPORT_FORMATS, EXPORT_TYPES, ROLES } from '../vocabulary.ts'

const ONE = `${API}/telemetry/{device_id}` as const
const FILES = EXPORT_FORMATS.map((format) => EXPORT_TYPES[format])
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
  path: ONE,
  operationId: 'getTelemetry',
  summary: 'Read the latest telemetry of a device',
  replies: { 200: SnapshotBody },
} as const satisfies Operation

export const listMetrics = {
  ...SHARED,
  path: `${ONE}/metrics`,
  operationId: 'listMetrics',
  summary: 'List the metrics that a device has reported, with their last values',
  replies: { 200: MetricList },
} as const satisfies Operation

export const getTelemetryHistory = {
  ...SHARED,
  path: `${ONE}/history`,
  operationId: 'getTelemetryHistory',
  summary: 'Read the history of metrics: buckets, points, or a file of either',
  query: HistoryQuery,
  refusals: ['NOT_FOUND', 'BAD_REQUEST'],
  replies: { 200: AnyHistory },
  files: FILES,
} as const satisfies Operation

export const getFleetTelemetry = {
  method: 'GET',
  tag: 'telemetry',
  access: ROLES,
  scope: 'list',
  path: `${API}/telemetry`,
  operationId: 'getFleetTelemetry',
  summary: 'Read the history of one metric for many devices, one by one or as a whole',
  query: FleetQuery,
  replies: { 200: FleetTelemetry },
  files: FILES,
} as const satisfies Operation
