// Bodies of /telemetry.
import { Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import type { JsonObject } from './json.ts'
import { choice, Instant, instantText, orNull } from './json-schema.ts'
import { PAGE_FIELDS, PAGE_QUERY } from './page.ts'
import { AGGREGATES, EXPORT_FORMATS, FILLS, INTERVALS } from './vocabulary.ts'

const DeviceName = Type.String({ examples: ['robot-7'] })
const MetricName = Type.String({ examples: ['battery.percent'] })

export const SnapshotBody = Type.Object(
  {
    device_id: DeviceName,
    timestamp: orNull(Instant, { examples: ['2026-03-01T08:30:00.000Z'] }),
    data: Type.Unsafe<JsonObject>({
      type: 'object',
      examples: [{ battery: { percent: 81.5 }, moving: true }],
    }),
  },
  { title: 'Snapshot', description: 'Each field at its newest value by event time.' },
)

export const METRIC_TYPES = ['number', 'boolean', 'string', 'array'] as const

const MetricBody = Type.Object(
  {
    metric: MetricName,
    type: orNull(choice(METRIC_TYPES, { description: 'Of the last value' })),
    value: Type.Unknown({ description: 'The last one; null if the device cleared it', examples: [81.5] }),
    timestamp: Instant,
    unit: orNull(Type.String(), { description: 'As the device type defines it', examples: ['%'] }),
    range: orNull(Type.Array(Type.Number(), { minItems: 2, maxItems: 2 }), { examples: [[0, 100]] }),
  },
  { title: 'Metric' },
)
export const MetricList = Type.Object(
  { device_id: DeviceName, data: Type.Array(MetricBody) },
  { title: 'MetricList', description: 'Every metric the device has reported, by name.' },
)

const RANGE_QUERY = {
  from: Type.Optional(instantText('one hour ago if left out')),
  to: Type.Optional(instantText('now if left out')),
  interval: Type.Optional(
    choice([...INTERVALS, 'raw'], { default: '1m', description: '`raw`: the points themselves' }),
  ),
  agg: Type.Optional(
    Type.Array(Type.String({ maxLength: 128 }), {
      maxItems: AGGREGATES.length,
      description: `Of: ${AGGREGATES.join(', ')}; several with commas between them. Quantiles lie between points; stddev is that of the points themselves; these and \`first\` need the points, so they reach back as far as raw telemetry is kept`,
      examples: [['avg,p95']],
    }),
  ),
  fill: Type.Optional(
    choice(FILLS, { description: 'What stands where a bucket has no points; without it, it is left out' }),
  ),
  tz: Type.Optional(
    Type.String({
      description: 'Days and hours begin as in this time zone (IANA name); UTC if left out',
      examples: ['Europe/Berlin'],
    }),
  ),
  format: Type.Optional(
    choice(['json', ...EXPORT_FORMATS], { description: 'A file instead of JSON; `Accept` does the same' }),
  ),
}

export const HistoryQuery = Type.Object(
  {
    metric: Type.Array(Type.String({ maxLength: BODY_LIMITS.metricListCharsMax }), {
      minItems: 1,
      maxItems: 100,
      description:
        'A top-level or dotted field name; several with commas between them, or repeated; `prefix.*` is all below a prefix',
      examples: [['battery.percent']],
    }),
    ...RANGE_QUERY,
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: BODY_LIMITS.rawPointsMax,
        description: `Points of a page, with interval=raw; ${BODY_LIMITS.rawPointsDefault} if left out`,
      }),
    ),
    cursor: Type.Optional(
      Type.String({ maxLength: BODY_LIMITS.cursorCharsMax, description: '`next_cursor` of the page before' }),
    ),
  },
  { additionalProperties: false },
)

export const FleetQuery = Type.Object(
  {
    metric: Type.String({
      minLength: 1,
      maxLength: BODY_LIMITS.metricNameBytesMax,
      description: 'A top-level or dotted field name',
      examples: ['battery.percent'],
    }),
    group: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: BODY_LIMITS.groupCharsMax,
        description: 'The group and those below it',
      }),
    ),
    by: Type.Optional(
      choice(['device', 'group'], {
        default: 'device',
        description: 'Each device by itself, a page of them; or the points of all of them together',
      }),
    ),
    ...RANGE_QUERY,
    ...PAGE_QUERY,
  },
  { additionalProperties: false },
)

const value = Type.Optional(orNull(Type.Number()))
const BucketBody = Type.Object(
  {
    time: Instant,
    avg: value,
    min: value,
    max: value,
    count: Type.Optional(Type.Integer({ minimum: 0 })),
    last: value,
    sum: value,
    first: value,
    p50: value,
    p95: value,
    p99: value,
    stddev: value,
  },
  {
    title: 'Bucket',
    description: 'Without `agg` it has avg, min, max, count and last.',
    examples: [{ time: '2026-03-01T08:30:00.000Z', avg: 81.2, min: 80.9, max: 81.5, count: 12, last: 80.9 }],
  },
)
const Buckets = Type.Array(BucketBody)
const Interval = choice(INTERVALS, { examples: ['1m'] })

const History = Type.Object(
  { device_id: DeviceName, metric: MetricName, interval: Interval, data: Buckets },
  {
    title: 'History',
    description: 'Buckets of one metric in [from, to), ascending, aligned to UTC unless `tz` says otherwise.',
  },
)
const SeriesHistory = Type.Object(
  {
    device_id: DeviceName,
    interval: Interval,
    from: Instant,
    to: Instant,
    series: Type.Array(Type.Object({ metric: MetricName, data: Buckets })),
  },
  { title: 'SeriesHistory', description: 'Of several metrics, or where a list or a prefix was asked for.' },
)
const RawHistory = Type.Object(
  {
    device_id: DeviceName,
    metric: MetricName,
    interval: choice(['raw']),
    data: Type.Array(
      Type.Object(
        { time: Instant, value: Type.Union([Type.Number(), Type.String()], { examples: [81.5] }) },
        { title: 'Point' },
      ),
    ),
    next_cursor: orNull(Type.String({ description: 'Where the next page begins; null on the last one' })),
  },
  { title: 'RawHistory', description: 'Points of one metric as reported, ascending.' },
)
export const AnyHistory = Type.Union([History, SeriesHistory, RawHistory])

const FLEET = { metric: MetricName, interval: Interval, from: Instant, to: Instant }
const FleetPage = Type.Object(
  {
    ...FLEET,
    data: Type.Array(Type.Object({ device_id: DeviceName, data: Buckets })),
    ...PAGE_FIELDS,
  },
  { title: 'FleetTelemetryPage', description: 'A page of devices by id, each with its buckets.' },
)
const FleetGroup = Type.Object(
  {
    ...FLEET,
    group: orNull(Type.String(), { examples: ['warehouse/a'] }),
    devices: Type.Integer({ minimum: 0, description: 'Whose points are taken together', examples: [12] }),
    data: Buckets,
  },
  { title: 'GroupTelemetry', description: 'Buckets over the points of all devices of a group.' },
)
export const FleetTelemetry = Type.Union([FleetPage, FleetGroup])
