// Rows of the index as a file. A cell that a spreadsheet would run as a formula gets an apostrophe before it.
import type { FleetColumns } from './columns.ts'

const HEADER = [
  'device_id',
  'name',
  'type',
  'group',
  'tags',
  'status',
  'firmware_version',
  'last_seen_at',
] as const

function fieldsOf(columns: FleetColumns, row: number): readonly string[] {
  const seen = columns.seen[row] ?? 0
  return [
    columns.ids[row] ?? '',
    columns.names[row] ?? '',
    columns.types.at(columns.type[row] ?? 0),
    columns.groups.at(columns.group[row] ?? 0),
    columns.tagsAt(row).join(';'),
    columns.statusAt(row),
    columns.firmwares.at(columns.firmware[row] ?? 0),
    seen === 0 ? '' : new Date(seen).toISOString(),
  ]
}

export function toCsv(columns: FleetColumns, rows: ArrayLike<number>): string {
  const lines = Array.from(rows, (row) => fieldsOf(columns, row).map(csvCell).join(','))
  return [HEADER.join(','), ...lines, ''].join('\r\n')
}

export function toNdjson(columns: FleetColumns, rows: ArrayLike<number>): string {
  return Array.from(rows, (row) => {
    const fields = fieldsOf(columns, row)
    const entries = HEADER.map((name, i) => [name, name === 'tags' ? columns.tagsAt(row) : fields[i]])
    return `${JSON.stringify(Object.fromEntries(entries))}\n`
  }).join('')
}

function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r\n＝＋－＠]/u.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
