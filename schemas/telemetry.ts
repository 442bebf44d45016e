// Bodies of /telemetry.
import { Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import { choice, FreeObject, Instant, orNull } from './json-schema.ts'
import { INTERVALS } from './vocabulary.ts'

export const SnapshotBody = Type.Object(
  {
    device_id: Type.String(),
    timestamp: orNull(Instant),
    data: FreeObject,
  },
  { title: 'Snapshot', description: 'Each field at its newest value by event time.' },
)

export const HistoryQuery = Type.Object(
  {
    metric: Type.String({
      minLength: 1,
      maxLength: BODY_LIMITS.metricNameBytesMax,
      description: 'A top-level or dotted field name',
      examples: ['battery.percent'],
    }),
    from: Type.Optional(Type.String({ description: 'ISO 8601; one hour ago if left out' })),
    to: Type.Optional(Type.String({ description: 'ISO 8601; now if left out' })),
    interval: Type.Optional(choice(INTERVALS, { default: '1m' })),
  },
  { additionalProperties: false },
)

const BucketBody = Type.Object(
  {
    time: Instant,
    avg: Type.Number(),
    min: Type.Number(),
    max: Type.Number(),
    count: Type.Integer({ minimum: 1 }),
    last: Type.Number(),
  },
  { title: 'Bucket' },
)
export const History = Type.Object(
  {
    device_id: Type.String(),
    metric: Type.String(),
    interval: choice(INTERVALS),
    data: Type.Array(BucketBody),
  },
  {
    title: 'History',
    description: 'Buckets aligned to UTC in [from, to), ascending; empty ones are left out.',
  },
)
