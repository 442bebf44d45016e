// /devices/bulk and /devices/export: many devices in one call.
import { BULK_TYPES, BulkBody, BulkJsonBody, BulkQuery, BulkResult, NDJSON_NAMES } from '../bulk.ts'
import { BulkEditBody, BulkEditQuery, BulkEditResult } from '../bulk-edit.ts'
import { DeviceExportQuery } from '../device.ts'
import { API, type Operation } from '../operation.ts'
import { ROLES } from '../vocabulary.ts'

export const bulkRegisterDevices = {
  method: 'POST',
  path: `${API}/devices/bulk`,
  operationId: 'bulkRegisterDevices',
  summary:
    'Register many devices, from lines of JSON or from CSV; with `upsert` also change those that exist',
  tag: 'devices',
  access: ['admin'],
  scope: 'none',
  query: BulkQuery,
  body: BulkBody,
  jsonBody: BulkJsonBody,
  bodyTypes: [BULK_TYPES.ndjson, BULK_TYPES.csv, ...NDJSON_NAMES, 'application/json'],
  streamsBody: true,
  repeats: 'live',
  replies: { 200: BulkResult },
  refusals: ['RATE_LIMIT_EXCEEDED'],
} as const satisfies Operation

export const bulkEditDevices = {
  method: 'POST',
  path: `${API}/devices/bulk-edit`,
  operationId: 'bulkEditDevices',
  summary: 'Change many devices at once: their group, tags or status',
  description:
    'Each device is changed as `PATCH /devices/{device_id}` would, and has an entry of its own in the audit. Tags are added to those that a device has, or taken from them.',
  tag: 'devices',
  access: ['admin'],
  scope: 'target',
  repeats: 'once',
  query: BulkEditQuery,
  body: BulkEditBody,
  replies: { 200: BulkEditResult },
  refusals: ['EMPTY_TARGET', 'RATE_LIMIT_EXCEEDED'],
} as const satisfies Operation

export const exportDevices = {
  method: 'GET',
  path: `${API}/devices/export`,
  operationId: 'exportDevices',
  summary: 'Export all devices as a file that bulk registration accepts',
  tag: 'devices',
  access: ROLES,
  scope: 'list',
  isAudited: true,
  query: DeviceExportQuery,
  replies: { 200: 'text' },
  files: [BULK_TYPES.ndjson, BULK_TYPES.csv],
} as const satisfies Operation
