// /telemetry: the latest values of a device, its history, and that of groups.
import { DeviceParams } from '../device.ts'
import { API, DATABASE_WORK, type Operation } from '../operation.ts'
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
  description:
    'In the embedded profile, a message is part of the answer once its PUBACK has arrived. In a cluster the broker acknowledges before the service has the message, so it is part of the answer a moment later: compare `timestamp`, or follow the device on `/ws`.',
  replies: { 200: SnapshotBody },
} as const satisfies Operation

export const listMetrics = {
  ...SHARED,
  path: `${ONE}/metrics`,
  operationId: 'listMetrics',
  work: DATABASE_WORK,
  summary: 'List the metrics that a device has reported, with their last values',
  replies: { 200: MetricList },
} as const satisfies Operation

export const getTelemetryHistory = {
  ...SHARED,
  path: `${ONE}/history`,
  operationId: 'getTelemetryHistory',
  work: DATABASE_WORK,
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
  work: DATABASE_WORK,
  summary: 'Read the history of one metric for many devices, one by one or as a whole',
  query: FleetQuery,
  replies: { 200: FleetTelemetry },
  files: FILES,
} as const satisfies Operation
