// /devices/bulk: many devices in one call.
import { BULK_TYPES, BulkBody, BulkQuery, BulkResult } from '../bulk.ts'
import { API, type Operation } from '../operation.ts'

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
  bodyTypes: [BULK_TYPES.ndjson, BULK_TYPES.csv],
  streamsBody: true,
  replies: { 200: BulkResult },
  refusals: ['RATE_LIMIT_EXCEEDED'],
} as const satisfies Operation
