// /devices/bulk and /devices/export: many devices in one call.
import { BULK_TYPES, BulkBody, BulkJsonBody, BulkQuery, BulkResult, NDJSON_NAMES } from '../bulk.ts'
import { DeviceExportQuery } from '../device.ts'
import { API, type Operation } from '../operation.ts'
import { ROLES } from '../vocabulary.ts'

export const bulkRegisterDevices = {
  method: 'POST',
  path: `${API}/devices/bulk`,
  operationId: 'bulkRegisterDevices',
  summary: 'Register many devices, from lines of JSON or from CSV',
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
