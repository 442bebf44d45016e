// /fleet: the whole fleet at once, for pages that show all of it.
import {
  FleetIndex,
  FleetIndexQuery,
  FleetSummary,
  FleetSummaryQuery,
  FleetTrend,
  FleetTrendQuery,
  LatestOfMany,
  LatestOfManyBody,
} from '../fleet.ts'
import { API, DATABASE_WORK, type Operation } from '../operation.ts'
import { ROLES } from '../vocabulary.ts'

const SHARED = { method: 'GET', tag: 'fleet', access: ROLES, scope: 'list' } as const

export const getFleetIndex = {
  ...SHARED,
  path: `${API}/fleet/index`,
  operationId: 'getFleetIndex',
  summary: 'Read a row for every device, or those that have changed',
  description:
    'For keeping a copy: subscribe to the channel `fleet` of `/ws` first, read the index, then apply the deltas whose `rev` is greater. After a pause, `since` brings what has changed. The answer is made at most once a second for all callers who may see the same.',
  query: FleetIndexQuery,
  hasEtag: true,
  replies: { 200: FleetIndex, 304: 'empty' },
  refusals: ['CURSOR_EXPIRED'],
} as const satisfies Operation

export const getFleetSummary = {
  ...SHARED,
  path: `${API}/fleet/summary`,
  operationId: 'getFleetSummary',
  summary: 'Count devices by status, type, group, firmware or tag',
  query: FleetSummaryQuery,
  replies: { 200: FleetSummary },
} as const satisfies Operation

export const getFleetTrend = {
  ...SHARED,
  path: `${API}/fleet/trend`,
  operationId: 'getFleetTrend',
  work: DATABASE_WORK,
  summary: 'Read how many devices there were, by status',
  query: FleetTrendQuery,
  replies: { 200: FleetTrend },
} as const satisfies Operation

export const getLatestOfMany = {
  method: 'POST',
  tag: 'telemetry',
  access: ROLES,
  scope: 'list',
  path: `${API}/telemetry/latest`,
  operationId: 'getLatestOfMany',
  work: DATABASE_WORK,
  isAudited: false,
  summary: 'Read the latest values of a few metrics on many devices',
  body: LatestOfManyBody,
  replies: { 200: LatestOfMany },
} as const satisfies Operation
