// /fleet: the whole fleet at once, for pages that show all of it.
import { FleetIndex, FleetIndexQuery, FleetSummary, FleetSummaryQuery } from '../fleet.ts'
import { API, type Operation } from '../operation.ts'
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
