// The columns that the list of devices can show, read from the index.
import { type ColumnChoice, metaOf, metricOf } from '../../address/column-choices.ts'
import { pathOf } from '../../address/routes.ts'
import { Spark } from '../../charts/spark.tsx'
import { FLAG } from '../../fleet/columns.ts'
import type { MetricValues } from '../../fleet/metric-values.ts'
import { columns } from '../../live/fleet-index.ts'
import { Age } from '../../parts/age.tsx'
import type { DeviceType } from '../../parts/command-draft.ts'
import { connectionReason } from '../../parts/connection-text.ts'
import { shownValue } from '../../parts/flat-values.ts'
import type { GridColumn } from '../../parts/grid-column.ts'
import { plainText } from '../../parts/plain-text.ts'
import { StatusMark } from '../../parts/status-mark.tsx'
import { Tinted } from '../../parts/tinted.tsx'
import { type ColumnId, isColumnId } from './column-ids.ts'
import type { ColumnWidths } from './column-widths.ts'
import { t } from './device-words.ts'
import { severityOf } from './metric-severity.ts'
import type { Sparks } from './use-sparks.ts'

const UNSORTED: readonly ColumnId[] = ['tags', 'parent', 'reason']

/** What the columns beside those of the index are filled from. */
export interface MoreColumns {
  readonly values: MetricValues
  /** Unit and bounds by the device's type. */
  readonly types: readonly DeviceType[]
  readonly sparks: Sparks
  readonly metadata: ReadonlyMap<
    string,
    { readonly leaves: ReadonlyMap<string, unknown>; readonly reason: string }
  >
}

export function columnName(id: string): string {
  return isColumnId(id) ? t(id) : plainText(metricOf(id) ?? metaOf(id) ?? id)
}

export function gridColumn(
  { id, widthPx }: ColumnChoice,
  more: MoreColumns,
  widths: ColumnWidths,
): GridColumn {
  const shared = { id, name: columnName(id), widthPx }
  const metric = metricOf(id)
  if (metric !== undefined)
    return {
      ...shared,
      leastPx: 160,
      sort: id,
      isNumber: true,
      cell: (row) => <MetricCell row={row} metric={metric} more={more} />,
    }
  if (!isColumnId(id)) {
    const path = metaOf(id) ?? ''
    return {
      ...shared,
      leastPx: 112,
      cell: (row) => textOf(leafText(more.metadata.get(columns.ids[row] ?? '')?.leaves.get(path))),
    }
  }
  return {
    ...shared,
    ...widths[id],
    sort: UNSORTED.includes(id) ? undefined : id,
    cell: (row) =>
      id === 'reason'
        ? textOf(reasonText(more.metadata.get(columns.ids[row] ?? '')?.reason ?? ''))
        : cellOf(id, row),
  }
}

const leafText = (value: unknown) => (value === undefined ? '' : shownValue(value))

interface MetricCellProps {
  readonly row: number
  readonly metric: string
  readonly more: MoreColumns
}

export function MetricCell({ row, metric, more: { values, types, sparks } }: MetricCellProps) {
  const deviceId = columns.ids[row] ?? ''
  const value = values.of(metric, deviceId)
  if (value === undefined || value === null) return <span class="muted">–</span>
  const type = types.find(({ name }) => name === columns.types.at(columns.type[row] ?? 0))
  const unit = type?.telemetry.find(({ field }) => field === metric)?.unit
  const severity = severityOf(value, metric, type)
  const text = `${shownValue(value)}${unit == null ? '' : ` ${unit}`}`
  const spark = sparks(metric, deviceId)
  return (
    <span class="metric-cell" title={text}>
      {spark?.some((one) => one !== null) && <Spark values={spark} width={56} height={20} />}
      <Tinted value={text}>
        {severity === undefined ? (
          text
        ) : (
          <span class={`severity-${severity}`}>
            {severity === 'critical' ? '✕' : '▲'} {text}
          </span>
        )}
      </Tinted>
    </span>
  )
}

function cellOf(id: Exclude<ColumnId, 'reason'>, row: number) {
  const deviceId = columns.ids[row] ?? ''
  switch (id) {
    case 'status':
      return (
        <Tinted value={columns.status[row]}>
          <StatusMark status={columns.statusAt(row)} />
        </Tinted>
      )
    case 'name':
      return (
        <a
          class="grid-name"
          tabIndex={-1}
          title={nameAt(row)}
          href={pathOf('device', { device_id: deviceId })}
        >
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
      return <LastSeen row={row} />
    case 'since':
      return <Age at={columns.since[row] || undefined} />
    case 'alert':
      return (
        <Tinted value={(columns.flags[row] ?? 0) & (FLAG.critical | FLAG.warning)}>
          <AlertMark row={row} />
        </Tinted>
      )
    case 'sync':
      return <SyncMark isOut={((columns.flags[row] ?? 0) & FLAG.outOfSync) !== 0} />
  }
}

export const nameAt = (row: number) => plainText(columns.names[row] ?? '')

function textOf(text: string) {
  return (
    <Tinted value={text}>
      {text === '' ? <span class="muted">–</span> : <span title={plainText(text)}>{plainText(text)}</span>}
    </Tinted>
  )
}

export function LastSeen({ row }: { readonly row: number }) {
  const at = columns.seen[row] ?? 0
  return at === 0 ? <span class="muted">{t('never')}</span> : <Age at={at} />
}

function SyncMark({ isOut }: { readonly isOut: boolean }) {
  return (
    <Tinted value={isOut}>
      {isOut ? (
        <span class="severity-info">◔ {t('outOfSync')}</span>
      ) : (
        <span class="muted">✓ {t('inSync')}</span>
      )}
    </Tinted>
  )
}

function AlertMark({ row }: { readonly row: number }) {
  const flags = columns.flags[row] ?? 0
  if ((flags & FLAG.critical) !== 0) return <span class="severity-critical">✕ {t('critical')}</span>
  if ((flags & FLAG.warning) !== 0) return <span class="severity-warning">▲ {t('warning')}</span>
  return <span class="muted">–</span>
}

const reasonText = (reason: string) =>
  reason === 'connect' ? t('connected') : (connectionReason(reason === '' ? null : reason) ?? '')
