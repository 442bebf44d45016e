// Bodies of POST /devices/bulk-edit: one change to many devices.
import { type Static, Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import { DEVICE_FILTERS, DeviceIdText, Group, Tags } from './device.ts'
import { choice, closed, object, orNull } from './json-schema.ts'
import { DEVICE_STATUSES } from './vocabulary.ts'

const DeviceEditFilter = Type.Object(DEVICE_FILTERS, {
  title: 'DeviceEditFilter',
  additionalProperties: false,
  description: 'All devices that match, as in `GET /devices`. At least one field is needed.',
  examples: [{ group: 'warehouse/a', type: 'mqtt_device' }],
})

const ManyEdit = Type.Object(
  {
    group: Type.Optional(orNull(Group, { examples: ['warehouse/b'] })),
    tags_add: Type.Optional(Tags),
    tags_remove: Type.Optional(Tags),
    status: Type.Optional(choice(DEVICE_STATUSES, { examples: ['maintenance'] })),
    status_reason: Type.Optional(Type.String({ maxLength: BODY_LIMITS.reasonCharsMax })),
  },
  { title: 'DevicesPatch', additionalProperties: false, examples: [{ tags_add: ['floor-2'] }] },
)

export const BulkEditBody = Type.Object(
  {
    device_ids: Type.Optional(
      Type.Array(DeviceIdText, { minItems: 1, maxItems: BODY_LIMITS.bulkRowsMax, examples: [['robot-7']] }),
    ),
    filter: Type.Optional(DeviceEditFilter),
    patch: ManyEdit,
  },
  {
    title: 'BulkEditBody',
    additionalProperties: false,
    description: `Either \`device_ids\` or \`filter\` is needed. At most ${BODY_LIMITS.bulkRowsMax} devices.`,
    examples: [{ device_ids: ['robot-7'], patch: { tags_add: ['floor-2'] } }],
  },
)
export type BulkEditBody = Static<typeof BulkEditBody>

export const BulkEditQuery = closed({
  dry_run: Type.Optional(Type.Boolean({ description: 'Tell what would change, and change nothing.' })),
})

const BulkEditRow = object('BulkEditRow', {
  device_id: Type.String({ examples: ['robot-7'] }),
  status: choice(['changed', 'unchanged', 'failed'], {
    description: 'Of a dry run: what it would be.',
  }),
  error: Type.Optional(object('BulkEditError', { code: Type.String(), message: Type.String() })),
})
export type BulkEditRow = Static<typeof BulkEditRow>

const Count = Type.Integer({ minimum: 0 })
const Counts = (description: string) => Type.Record(Type.String(), Count, { description })

export const BulkEditResult = object(
  'BulkEditResult',
  'Devices are independent: some may be changed and others refused.',
  {
    dry_run: Type.Boolean(),
    total: Count,
    changed: Count,
    unchanged: Count,
    failed: Count,
    by_status: Counts('Number of devices by their status before the change.'),
    by_type: Counts('Number of devices by type.'),
    results: Type.Array(BulkEditRow, { description: 'One for each device, ordered by its id.' }),
  },
)
export type BulkEditResult = Static<typeof BulkEditResult>
