import type { CallOf, Operations, ReplyOf } from '../../../../schemas/client/calls.ts'

export type SavedView = ReplyOf<Operations['listViews']>['data'][number]

/** One call for all who show saved views, so that they share its answer. More than these are counted and not shown. */
export const ALL_VIEWS = { query: { per_page: 200 } } satisfies CallOf<Operations['listViews']>
