// The columns that the list of devices can show, read from the index.
import { pathOf } from '../../address/routes.ts'
import { FLAG } from '../../fleet/columns.ts'
import { columns } from '../../live/fleet-index.ts'
import { Age } from '../../parts/age.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { StatusMark } from '../../parts/status-mark.tsx'
import type { GridColumn } from '../../parts/virtual-grid.tsx'
import { t } from './device-words.ts'

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
] as const
export type ColumnId = (typeof COLUMN_IDS)[number]
export const DEFAULT_COLUMNS: readonly ColumnId[] = COLUMN_IDS.slice(0, 9)

/** The least width in pixels, and the share of the room that is left. */
const WIDTHS: Readonly<Record<ColumnId, readonly [leastPx: number, grow?: number]>> = {
  status: [124],
  name: [150, 3],
  id: [104, 1],
  group: [104, 1],
  type: [104, 1],
  seen: [104],
  firmware: [84],
  alert: [84],
  sync: [84],
  tags: [96, 1],
  parent: [96, 1],
  since: [104],
}
const UNSORTED: readonly ColumnId[] = ['tags', 'parent']

export const isColumnId = (id: string): id is ColumnId => COLUMN_IDS.some((known) => known === id)

export function gridColumn(id: ColumnId): GridColumn {
  return {
    id,
    name: t(id),
    leastPx: WIDTHS[id][0],
    grow: WIDTHS[id][1],
    sort: UNSORTED.includes(id) ? undefined : id,
    cell: (row) => cellOf(id, row),
  }
}

function cellOf(id: ColumnId, row: number) {
  const deviceId = columns.ids[row] ?? ''
  switch (id) {
    case 'status':
      return <StatusMark status={columns.statusAt(row)} />
    case 'name':
      return (
        <a class="grid-name" tabIndex={-1} href={pathOf('device', { device_id: deviceId })}>
          {nameAt(row)}
        </a>
      )
    case 'id':
      return <code title={deviceId}>{deviceId}</code>
    case 'group':
      return textOf(columns.groups.at(columns.group[row] ?? 0))
    case 'type':
      return textOf(columns.types.at(columns.type[row] ?? 0))
    case 'firmware':
      return textOf(columns.firmwares.at(columns.firmware[row] ?? 0))
    case 'tags':
      return textOf(columns.tagsAt(row).join(', '))
    case 'parent':
      return textOf(columns.parents[row] ?? '')
    case 'seen':
      return <Seen row={row} />
    case 'since':
      return <Age at={columns.since[row] || undefined} />
    case 'alert':
      return <AlertMark row={row} />
    case 'sync':
      return ((columns.flags[row] ?? 0) & FLAG.outOfSync) === 0 ? (
        <span class="muted">✓ {t('inSync')}</span>
      ) : (
        <span class="severity-info">◔ {t('outOfSync')}</span>
      )
  }
}

export const nameAt = (row: number) => plainText(columns.names[row] ?? '')

function textOf(text: string) {
  return text === '' ? <span class="muted">–</span> : <span title={plainText(text)}>{plainText(text)}</span>
}

export function Seen({ row }: { readonly row: number }) {
  const at = columns.seen[row] ?? 0
  return at === 0 ? <span class="muted">{t('never')}</span> : <Age at={at} />
}

function AlertMark({ row }: { readonly row: number }) {
  const flags = columns.flags[row] ?? 0
  if ((flags & FLAG.critical) !== 0) return <span class="severity-critical">✕ {t('critical')}</span>
  if ((flags & FLAG.warning) !== 0) return <span class="severity-warning">▲ {t('warning')}</span>
  return <span class="muted">–</span>
}
