// A table of at most a page of rows. On a narrow screen each row becomes a card whose lines name their columns.
import type { ComponentChildren } from 'preact'
import { words } from '../words/words.ts'

const t = words({
  select: ['Select {name}', '{name} auswählen'],
  all: ['Select all on this page', 'Alle auf dieser Seite auswählen'],
  selected: ['Selected', 'Ausgewählt'],
})

export interface Column<Row> {
  readonly name: string
  readonly cell: (row: Row) => ComponentChildren
  readonly isNumber?: boolean
}

export interface Selection {
  readonly ids: ReadonlySet<string>
  readonly onChange: (ids: ReadonlySet<string>) => void
}

export interface DataTableProps<Row> {
  /** What the table lists, for who cannot see what is around it. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly idOf: (row: Row) => string
  readonly selection?: Selection | undefined
}

export function DataTable<Row>({ caption, columns, rows, idOf, selection }: DataTableProps<Row>) {
  const ids = rows.map(idOf)
  const isAll = ids.length > 0 && ids.every((id) => selection?.ids.has(id))
  return (
    <table class="table table-cards">
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {selection !== undefined && (
            <th scope="col">
              <input
                type="checkbox"
                aria-label={t('all')}
                checked={isAll}
                onChange={() => selection.onChange(new Set(isAll ? [] : ids))}
              />
            </th>
          )}
          {columns.map(({ name, isNumber }) => (
            <th key={name} scope="col" class={isNumber === true ? 'number' : undefined}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => {
          const id = idOf(row)
          return (
            <tr key={id}>
              {selection !== undefined && (
                <td data-label={t('selected')}>
                  <input
                    type="checkbox"
                    aria-label={t('select', { name: id })}
                    checked={selection.ids.has(id)}
                    onChange={() => selection.onChange(toggled(selection.ids, id))}
                  />
                </td>
              )}
              {columns.map(({ name, cell, isNumber }) => (
                <td key={name} data-label={name} class={isNumber === true ? 'number' : undefined}>
                  <div>{cell(row)}</div>
                </td>
              ))}
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

function toggled(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(ids)
  if (!next.delete(id)) next.add(id)
  return next
}
