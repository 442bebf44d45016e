export const COLUMN_IDS = [
  'status',
  'name',
  'id',
  'group',
  'type',
  'seen',
  'firmware',
  'alert',
  'sync',
  'tags',
  'parent',
  'since',
  'reason',
] as const
export type ColumnId = (typeof COLUMN_IDS)[number]
export const DEFAULT_COLUMNS: readonly ColumnId[] = COLUMN_IDS.slice(0, 9)

export const isColumnId = (id: string): id is ColumnId => COLUMN_IDS.some((known) => known === id)
