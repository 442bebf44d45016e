// Bodies of /telemetry.
import { Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import type { JsonObject } from './json.ts'
import { choice, closed, Instant, instantText, object, orNull } from './json-schema.ts'
import { PAGE_FIELDS, PAGE_QUERY } from './page.ts'
import { AGGREGATES, EXPORT_FORMATS, FILLS, INTERVALS } from './vocabulary.ts'

const DeviceName = Type.String({ examples: ['robot-7'] })
const MetricName = Type.String({ examples: ['battery.percent'] })

export const SnapshotBody = object('Snapshot', 'The newest value of each field by event time.', {
  device_id: DeviceName,
  timestamp: orNull(Instant, { examples: ['2026-03-01T08:30:00.000Z'] }),
  data: Type.Unsafe<JsonObject>({
    type: 'object',
    examples: [{ battery: { percent: 81.5 }, moving: true }],
  }),
})

export const METRIC_TYPES = ['number', 'boolean', 'string', 'array'] as const

const MetricBody = object('Metric', {
  metric: MetricName,
  type: orNull(choice(METRIC_TYPES, { description: 'Type of the last value.' })),
  value: Type.Unknown({ description: 'The last value, null if the device cleared it.', examples: [81.5] }),
  timestamp: Instant,
  unit: orNull(Type.String(), { description: 'Unit from the device type.', examples: ['%'] }),
  range: orNull(Type.Array(Type.Number(), { minItems: 2, maxItems: 2 }), { examples: [[0, 100]] }),
})
export const MetricList = object('MetricList', 'Every metric that the device has reported, sorted by name.', {
  device_id: DeviceName,
  data: Type.Array(MetricBody),
})

const RANGE_QUERY = {
  from: Type.Optional(instantText('inclusive. Default: one hour ago')),
  to: Type.Optional(instantText('exclusive. Default: now')),
  interval: Type.Optional(
    choice([...INTERVALS, 'raw'], {
      default: '1m',
      description: 'Width of a bucket. `raw` returns the points themselves.',
    }),
  ),
  agg: Type.Optional(
    Type.Array(Type.String({ maxLength: 128 }), {
      maxItems: AGGREGATES.length,
      description: `Aggregates of a bucket (${AGGREGATES.join(', ')}), separated by commas. Quantiles are interpolated between points, and stddev is the population’s. Both and \`first\` are computed from raw points, so they reach back only as far as raw telemetry is kept.`,
      examples: [['avg,p95']],
    }),
  ),
  fill: Type.Optional(
    choice(FILLS, { description: 'Value of a bucket without points. By default such a bucket is left out.' }),
  ),
  tz: Type.Optional(
    Type.String({
      description: 'Time zone (IANA name) in which days and hours begin. Default: UTC.',
      examples: ['Europe/Berlin'],
    }),
  ),
  format: Type.Optional(
    choice(['json', ...EXPORT_FORMATS], {
      description: 'Returns a file instead of JSON. The header `Accept` does the same.',
    }),
  ),
}

export const HistoryQuery = closed({
  metric: Type.Array(Type.String({ maxLength: BODY_LIMITS.metricListCharsMax }), {
    minItems: 1,
    maxItems: 100,
    description:
      'Field names, dotted if nested, separated by commas or as repeated parameters. `prefix.*` means everything below a prefix.',
    examples: [['battery.percent']],
  }),
  ...RANGE_QUERY,
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: BODY_LIMITS.rawPointsMax,
      description: `Points in a page, for interval=raw. Default: ${BODY_LIMITS.rawPointsDefault}.`,
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: BODY_LIMITS.cursorCharsMax,
      description: '`next_cursor` of the previous page.',
    }),
  ),
})

export const FleetQuery = closed({
  metric: Type.Array(Type.String({ maxLength: BODY_LIMITS.metricListCharsMax }), {
    minItems: 1,
    maxItems: 100,
    description:
      'Field names, dotted if nested, separated by commas or as repeated parameters. Prefixes are for single devices.',
    examples: [['battery.percent']],
  }),
  group: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: BODY_LIMITS.groupCharsMax,
      description: 'The group and the groups below it.',
    }),
  ),
  device_id: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
      minItems: 1,
      maxItems: BODY_LIMITS.telemetryDevicesNamedMax,
      description:
        'Only these devices, as repeated parameters. Devices that do not exist or that the caller may not see are left out.',
      examples: [['robot-7']],
    }),
  ),
  by: Type.Optional(
    choice(['device', 'group'], {
      default: 'device',
      description: 'One series per device, in pages, or one over the points of all devices.',
    }),
  ),
  ...RANGE_QUERY,
  ...PAGE_QUERY,
})

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
    description: 'Without `agg` a bucket has avg, min, max, count and last.',
    examples: [{ time: '2026-03-01T08:30:00.000Z', avg: 81.2, min: 80.9, max: 81.5, count: 12, last: 80.9 }],
  },
)
const Buckets = Type.Array(BucketBody)
const Interval = choice(INTERVALS, { examples: ['1m'] })

const History = object('History', 'Buckets of one metric in [from, to), ascending, aligned to `tz` or UTC.', {
  device_id: DeviceName,
  metric: MetricName,
  interval: Interval,
  data: Buckets,
})
const SeriesHistory = object(
  'SeriesHistory',
  'Buckets of several metrics. Also returned if a list or a prefix was asked for.',
  {
    device_id: DeviceName,
    interval: Interval,
    from: Instant,
    to: Instant,
    series: Type.Array(Type.Object({ metric: MetricName, data: Buckets })),
  },
)
const RawHistory = object('RawHistory', 'Points of one metric as they were reported, ascending.', {
  device_id: DeviceName,
  metric: MetricName,
  interval: choice(['raw']),
  data: Type.Array(
    object('Point', {
      time: Instant,
      value: Type.Union([Type.Number(), Type.String()], { examples: [81.5] }),
    }),
  ),
  next_cursor: orNull(Type.String({ description: 'Cursor of the next page, null on the last one.' })),
})
export const AnyHistory = Type.Union([History, SeriesHistory, RawHistory])

const FLEET = { metric: MetricName, interval: Interval, from: Instant, to: Instant }
const FleetPage = object('FleetTelemetryPage', 'A page of devices, sorted by id, each with its buckets.', {
  ...FLEET,
  data: Type.Array(Type.Object({ device_id: DeviceName, data: Buckets })),
  ...PAGE_FIELDS,
})
const Devices = Type.Integer({
  minimum: 0,
  description: 'Number of devices whose points are combined.',
  examples: [12],
})
const FleetGroup = object('GroupTelemetry', 'Buckets over the points of all devices in the group.', {
  ...FLEET,
  group: orNull(Type.String(), { examples: ['warehouse/a'] }),
  devices: Devices,
  data: Buckets,
})
const { metric: _, ...FLEET_OF_SEVERAL } = FLEET
const MetricSeries = Type.Array(object('MetricSeries', { metric: MetricName, data: Buckets }))
const FleetSeriesPage = object('FleetSeriesPage', 'A page of devices with several metrics each.', {
  ...FLEET_OF_SEVERAL,
  data: Type.Array(Type.Object({ device_id: DeviceName, series: MetricSeries })),
  ...PAGE_FIELDS,
})
const FleetGroupSeries = object(
  'GroupSeries',
  'Buckets of several metrics over the points of all devices in the group.',
  {
    ...FLEET_OF_SEVERAL,
    group: orNull(Type.String(), { examples: ['warehouse/a'] }),
    devices: Devices,
    series: MetricSeries,
  },
)
export const FleetTelemetry = Type.Union([FleetPage, FleetGroup, FleetSeriesPage, FleetGroupSeries])
