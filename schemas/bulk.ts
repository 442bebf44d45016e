// Bodies of POST /devices/bulk and GET /devices/export: devices as lines of JSON, or as rows of CSV.
import { type Static, Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import { RegisterDeviceBody, TokenExpiresAt } from './device.ts'
import { choice, closed, object, orNull } from './json-schema.ts'
import { FieldError } from './problem.ts'

export const BULK_TYPES = { ndjson: 'application/x-ndjson', csv: 'text/csv' } as const
/** None of these types is registered, and clients use all of them. */
export const NDJSON_NAMES = ['application/ndjson', 'application/jsonl'] as const

/** The columns of CSV. A column `metadata.<name>` holds one metadata field, as text. */
export const DEVICE_COLUMNS = [
  'device_id',
  'name',
  'type',
  'description',
  'group',
  'tags',
  'metadata',
  'parent_id',
  'heartbeat_timeout_sec',
] as const
/** Further columns of an export, which a registration ignores. */
export const REPORT_COLUMNS = ['status', 'firmware_version', 'created_at', 'updated_at'] as const

export const BulkQuery = closed({
  dry_run: Type.Optional(
    Type.Boolean({ description: 'Check every row without registering or changing any device.' }),
  ),
  upsert: Type.Optional(
    Type.Boolean({
      description:
        'A row with the id of a device that exists changes that device as `PATCH /devices/{device_id}` would, instead of being refused. What the row leaves out stays.',
    }),
  ),
})

/** The handler reads the body as a stream. */
export const BulkBody = Type.Unsafe<AsyncIterable<Uint8Array>>({
  type: 'string',
  description: `One JSON object per line, or CSV with a header (${DEVICE_COLUMNS.join(', ')}, metadata.<name>) and one row per device, tags separated by semicolons. At most ${BODY_LIMITS.bulkRowsMax} devices.`,
  examples: [
    '{"device_id":"robot-7","name":"Picker 7","type":"mqtt_device"}\n',
    'device_id,name,type,tags,metadata.floor\nrobot-7,Picker 7,mqtt_device,picker;floor-2,2\n',
  ],
})

export const BulkJsonBody = Type.Array(RegisterDeviceBody, {
  title: 'BulkDevices',
  minItems: 1,
  maxItems: BODY_LIMITS.bulkRowsMax,
  description: `All devices in one array of at most ${BODY_LIMITS.bulkJsonBytesMax} bytes. For more devices send lines of JSON, or CSV. What an export has besides (${REPORT_COLUMNS.join(', ')}) is ignored.`,
  examples: [[{ device_id: 'robot-7', name: 'Picker 7', type: 'mqtt_device' }]],
})

const Count = Type.Integer({ minimum: 0 })

const BulkRow = Type.Object(
  {
    row: Type.Integer({
      minimum: 1,
      description: 'Number of the row, from 1. A header and empty lines are not counted.',
    }),
    device_id: orNull(Type.String(), { examples: ['robot-7'] }),
    status: choice(['created', 'updated', 'unchanged', 'valid', 'failed']),
    error: Type.Optional(
      object('BulkRowError', {
        code: Type.String(),
        message: Type.String(),
        errors: Type.Optional(Type.Array(FieldError)),
      }),
    ),
    access_token: Type.Optional(
      Type.String({ description: 'The MQTT password of the device. It is shown in this answer only.' }),
    ),
    token_expires_at: Type.Optional(TokenExpiresAt),
  },
  {
    title: 'BulkRow',
    examples: [{ row: 1, device_id: 'robot-7', status: 'created', access_token: 'eyJhbGciOiJIUzI1NiJ9…' }],
  },
)
export type BulkRow = Static<typeof BulkRow>

export const BulkResult = object(
  'BulkResult',
  'Rows are independent: some may be created and others refused.',
  {
    dry_run: Type.Boolean(),
    total: Type.Integer({ minimum: 0, examples: [1] }),
    created: Type.Integer({ minimum: 0, examples: [1] }),
    updated: Count,
    unchanged: Count,
    valid: Count,
    failed: Count,
    results: Type.Array(BulkRow),
  },
)
export type BulkResult = Static<typeof BulkResult>
