// Bodies of /fleet: the whole fleet as columns, its counts, and their history.
import { type Static, Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import { Group } from './device.ts'
import { choice, closed, Instant, instantText, object, orNull } from './json-schema.ts'
import { DEVICE_STATUSES, INTERVALS } from './vocabulary.ts'

/** Properties of a device in addition to its status: bits of the column `flags`. */
export const FLEET_FLAGS = {
  connected: 1,
  flapping: 2,
  outOfSync: 4,
  warning: 8,
  critical: 16,
  held: 32,
} as const

const FILTER = {
  group: Type.Optional(Group),
  type: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  tag: Type.Optional(Type.String({ minLength: 1, maxLength: BODY_LIMITS.tagCharsMax })),
}

const INDEX_NAMES = ['with', 'without', 'only'] as const
export type IndexNames = (typeof INDEX_NAMES)[number]

export const FleetIndexQuery = closed({
  ...FILTER,
  names: Type.Optional(
    choice(INDEX_NAMES, {
      default: 'with',
      description:
        'For slow lines, which get a usable index first. `without`: the column `name` is empty. `only`: `device_id`, `name` and `rev` are filled, the other columns are empty. With `since` all columns are filled.',
    }),
  ),
  since: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: BODY_LIMITS.cursorCharsMax,
      description:
        '`cursor` of an earlier answer to the same question: the answer then has only what has changed since.',
    }),
  ),
})

const Texts = (description: string, examples: string[]) =>
  Type.Array(Type.String(), { description, examples: [examples] })
const Place = (list: string) => ({ description: `Places in \`${list}\`.`, examples: [[0]] })
const PlaceOrNull = (list: string) => ({
  description: `Places in \`${list}\`, null for none.`,
  examples: [[0]],
})
const Whole = Type.Integer({ minimum: 0 })

const FleetColumns = object('FleetColumns', {
  device_id: Texts(
    'The columns are equally long, but for those that `names` leaves empty: a place in all of them is one device.',
    ['robot-7'],
  ),
  name: Texts('Names.', ['Picker 7']),
  status: Type.Array(Whole, Place('statuses')),
  type: Type.Array(Whole, Place('types')),
  group: Type.Array(orNull(Whole), PlaceOrNull('groups')),
  tags: Type.Array(Type.Array(Whole), { description: 'Places in `tags`.', examples: [[[0]]] }),
  parent_id: Type.Array(orNull(Type.String()), {
    description: 'The gateway that speaks for the device.',
    examples: [[null]],
  }),
  firmware: Type.Array(orNull(Whole), PlaceOrNull('firmware')),
  flags: Type.Array(Whole, {
    description:
      'A sum: 1 connected, 2 flapping, 4 the shadow is out of sync, 8 an open alert is a warning, 16 an open alert is critical, 32 a command or an update is held back.',
    examples: [[1]],
  }),
  rev: Type.Array(Whole, {
    description: 'Grows with each change of the row. A delta of `/ws` counts if its `rev` is greater.',
    examples: [[41]],
  }),
  last_seen_ms: Type.Array(orNull(Whole), {
    description: 'Milliseconds since 1970, sampled every five seconds; null if never.',
    examples: [[1_772_353_865_250]],
  }),
  since_ms: Type.Array(Whole, {
    description: 'When the status last moved, in milliseconds since 1970.',
    examples: [[1_772_353_800_000]],
  }),
})

export const FleetIndex = object(
  'FleetIndex',
  'One row per device that the caller may see, ordered by nothing.',
  {
    at: Instant,
    cursor: Type.String({ description: 'For `since`.', examples: ['k3v9-118'] }),
    total: Type.Integer({ minimum: 0, description: 'Devices that match, not only the changed ones.' }),
    truncated: Type.Boolean({
      description: `More than ${BODY_LIMITS.fleetDevicesMax} devices match: the columns are empty, only \`total\` and \`by_status\` count.`,
    }),
    by_status: Type.Record(Type.String(), Whole, { examples: [{ online: 1 }] }),
    statuses: Texts('The words of `status`.', [...DEVICE_STATUSES]),
    types: Texts('The words of `type`.', ['mqtt_device']),
    groups: Texts('The words of `group`.', ['warehouse/a']),
    tags: Texts('The words of `tags`.', ['picker']),
    firmware: Texts('The words of `firmware`.', ['1.4.2']),
    columns: FleetColumns,
    removed: Type.Optional(
      Texts('With `since`: devices that were part of the earlier answer and are not any more.', []),
    ),
  },
)
export type FleetIndex = Static<typeof FleetIndex>

const FLEET_COUNTED_BY = ['status', 'type', 'group', 'firmware', 'tag'] as const
export type FleetCountedBy = (typeof FLEET_COUNTED_BY)[number]

export const FleetSummaryQuery = closed({
  ...FILTER,
  by: Type.Optional(choice(FLEET_COUNTED_BY, { default: 'status' })),
  depth: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: BODY_LIMITS.groupLevelsMax,
      description: 'With by=group: deeper groups are counted with the group at this depth.',
    }),
  ),
})

export const FleetSummary = object(
  'FleetSummary',
  'Devices by key, most first. A device with several tags counts for each.',
  {
    at: Instant,
    total: Whole,
    data: Type.Array(
      object('FleetCount', {
        key: orNull(Type.String(), {
          description: 'Null: devices without a group, a tag or a known firmware.',
          examples: ['online'],
        }),
        total: Whole,
        by_status: Type.Record(Type.String(), Whole, { examples: [{ online: 1 }] }),
      }),
    ),
    truncated: Type.Boolean({
      description: `There are more than ${BODY_LIMITS.fleetKeysMax} keys: those with the most devices are listed.`,
    }),
  },
)

export const FleetTrendQuery = closed({
  from: Type.Optional(instantText('inclusive. Default: 24 hours ago')),
  to: Type.Optional(instantText('exclusive. Default: now')),
  interval: Type.Optional(
    choice(
      INTERVALS.filter((interval) => interval !== '10s'),
      { default: '5m' },
    ),
  ),
  group: Type.Optional(Group),
})

export const FleetTrend = object(
  'FleetTrend',
  'The last count of each bucket. The fleet is counted once a minute; a bucket without a count is left out.',
  {
    interval: choice(INTERVALS, { examples: ['5m'] }),
    from: Instant,
    to: Instant,
    data: Type.Array(
      object('FleetMoment', {
        time: Instant,
        total: Whole,
        by_status: Type.Record(Type.String(), Whole, { examples: [{ online: 1 }] }),
      }),
    ),
  },
)

export const LatestOfManyBody = Type.Object(
  {
    device_ids: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        minItems: 1,
        maxItems: BODY_LIMITS.latestDevicesMax,
      }),
    ),
    filter: Type.Optional(closed(FILTER)),
    metrics: Type.Array(Type.String({ minLength: 1, maxLength: BODY_LIMITS.metricNameBytesMax }), {
      minItems: 1,
      maxItems: BODY_LIMITS.latestMetricsMax,
      examples: [['battery.percent']],
    }),
  },
  {
    title: 'LatestOfManyBody',
    additionalProperties: false,
    description: 'Either `device_ids` or `filter`; an empty filter means every device.',
    examples: [{ device_ids: ['robot-7'], metrics: ['battery.percent'] }],
  },
)

export const LatestOfMany = object('LatestOfMany', {
  at: Instant,
  device_id: Texts('Every column has a place per device.', ['robot-7']),
  values: Type.Record(Type.String(), Type.Array(Type.Unknown()), {
    description: 'The latest value by metric; null where there is none.',
    examples: [{ 'battery.percent': [81.5] }],
  }),
  timestamps_ms: Type.Record(Type.String(), Type.Array(orNull(Whole)), {
    description: 'When the value was measured by metric, in milliseconds since 1970.',
    examples: [{ 'battery.percent': [1_772_353_865_250] }],
  }),
  missing: Texts('Devices that do not exist or lie outside of the caller’s groups.', []),
})
