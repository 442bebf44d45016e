// The data of events of the channel `fleet`, as the documentation describes it.
import { Type } from 'typebox'
import { object, orNull } from '../../schemas/json-schema.ts'

const Whole = Type.Integer({ minimum: 0, examples: [0] })
const Ids = Type.Array(Type.String(), { examples: [['robot-7']] })
const Numbers = Type.Optional(Type.Array(Whole, { examples: [[1]] }))
const Texts = Type.Optional(Type.Array(orNull(Type.String()), { examples: [['warehouse/a']] }))

const Delta = Type.Object(
  {
    device_id: Ids,
    rev: Type.Array(Whole, { examples: [[41]], description: 'Zeros in a frame of values.' }),
    status: Type.Optional(
      Type.Array(Whole, { examples: [[1]], description: 'Places in `statuses` of the index.' }),
    ),
    flags: Numbers,
    since_ms: Numbers,
    last_seen_ms: Type.Optional(Type.Array(orNull(Whole), { examples: [[1_772_353_865_250]] })),
    name: Texts,
    type: Texts,
    group: Texts,
    tags: Type.Optional(Type.Array(Type.Array(Type.String()), { examples: [[['picker']]] })),
    parent_id: Texts,
    firmware: Texts,
    values: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.Unknown()), { examples: [{ 'battery.percent': [81.5] }] }),
    ),
    removed: Type.Optional(Ids),
    removed_rev: Numbers,
  },
  {
    title: 'FleetDelta',
    description: 'Columns, with a place per device. One that is absent has not changed.',
    examples: [{ device_id: ['robot-7'], rev: [41], status: [2], flags: [0], since_ms: [1_772_353_865_250] }],
  },
)
const Stats = object(
  'FleetStats',
  'Counts of the devices in sight. Rates, lag and deployments are the whole service’s, and null for users who are limited to groups.',
  {
    by_status: Type.Record(Type.String(), Whole, { examples: [{ online: 41 }] }),
    messages_per_sec: orNull(Type.Number(), { examples: [12.5] }),
    points_per_sec: orNull(Type.Number(), { examples: [80] }),
    ingest_lag_ms: orNull(Type.Number(), { examples: [0] }),
    commands: orNull(Type.Object({ open: Whole, failed_1h: Whole })),
    alerts: Type.Object({ info: Whole, warning: Whole, critical: Whole }),
    deployments_active: orNull(Whole, { examples: [0] }),
  },
)

export const FleetEvent = Type.Union([Delta, Stats])
