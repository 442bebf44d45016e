// A page of a list as a table: with its states while it is asked for, what stands in its place when it has no rows, and the
// way to the other pages.
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { LiveAnswer } from '../data/answers.ts'
import { AnswerArea } from './answer-area.tsx'
import { DataTable, type DataTableProps } from './data-table.tsx'
import { Pager, pageValue } from './pager.tsx'

export interface AnswerTableProps<Row> extends Omit<DataTableProps<Row>, 'rows'> {
  readonly answer: LiveAnswer<ListPage<Row>>
  /** What an empty list shows (D12). */
  readonly empty: ComponentChildren
}

/** A list without pages has rows only. */
interface ListPage<Row> {
  readonly data: readonly Row[]
  readonly page?: number
  readonly total?: number
  readonly total_pages?: number
}

export function AnswerTable<Row>({ answer, empty, ...table }: AnswerTableProps<Row>) {
  return (
    <AnswerArea answer={answer}>
      {({ data, page = 1, total = data.length, total_pages = 1 }) =>
        data.length === 0 && page > 1 ? (
          <PageThatIsGone next={Math.max(1, Math.min(page - 1, total_pages))} />
        ) : data.length === 0 ? (
          empty
        ) : (
          <>
            <DataTable {...table} rows={data} />
            <Pager of={{ page, total, total_pages }} />
          </>
        )
      }
    </AnswerArea>
  )
}

/** Rows went, or an old address names a page that there was: the last one is shown in its place. */
function PageThatIsGone({ next }: { readonly next: number }) {
  useEffect(() => pageValue.set(next), [next])
  return null
}
