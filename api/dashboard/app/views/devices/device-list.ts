// The rows of the list: those of the index that fit, in their order. Rows do not move under a pointer or a focus: a new
// order waits until somebody asks for it, and the number of moved rows is told. Whoever follows has asked once for all.
import { useMemo, useRef, useState } from 'preact/hooks'
import { metricColumn } from '../../address/column-choices.ts'
import { parseQuery, type Query } from '../../address/filter.ts'
import { type Facets, facetsOf } from '../../fleet/facets.ts'
import { type MetricColumns, matchingRows } from '../../fleet/filter-rows.ts'
import { type Sorting, sortRows } from '../../fleet/sort-rows.ts'
import { columns, fleetVersion, ranks } from '../../live/fleet-index.ts'
import { now } from '../../words/time.ts'

export interface DeviceList {
  readonly query: Query
  readonly rows: Uint32Array
  readonly facets: Facets
  /** How many rows are at another place in the order that waits. */
  readonly movedCount: number
  readonly resort: () => void
  readonly onHold: (isHeld: boolean) => void
}

/** Ages move rows in and out of a filter; that often it is looked again. */
const AGES_EVERY_MS = 10_000

/** Metrics that are loaded, and how often they have changed. */
interface LoadedMetrics {
  readonly columns: MetricColumns
  readonly version: number
}

export function useDeviceList(
  text: string,
  { by, isDescending }: Sorting,
  { loaded, isFollowing }: { readonly loaded: LoadedMetrics; readonly isFollowing: boolean },
): DeviceList {
  const version = fleetVersion.value
  const moment = Math.floor(now.value / AGES_EVERY_MS)
  const query = useMemo(() => parseQuery(text), [text])
  const fresh = useMemo(() => {
    const metrics = loaded.columns
    const context = { columns, nowMs: now.peek(), metrics }
    const fitting = matchingRows(query, context)
    const facets = facetsOf(query, context, fitting)
    // A metric may be called as a column of the index is.
    const rows = sortRows(
      fitting,
      { by, isDescending },
      {
        columns,
        ranks,
        metrics: Object.fromEntries(Object.entries(metrics).map(([name, all]) => [metricColumn(name), all])),
      },
    )
    return { rows, facets }
  }, [query, by, isDescending, version, moment, loaded.version])
  const isHeld = useRef(false)
  const shown = useRef({ key: '', rows: fresh.rows })
  const [, setResorted] = useState(0)
  const key = `${by} ${isDescending} ${text}`
  if (shown.current.key !== key || !isHeld.current || isFollowing) shown.current = { key, rows: fresh.rows }
  const movedCount = shown.current.rows === fresh.rows ? 0 : differences(shown.current.rows, fresh.rows)
  return {
    query,
    rows: shown.current.rows,
    facets: fresh.facets,
    movedCount,
    resort: () => {
      shown.current = { key, rows: fresh.rows }
      setResorted((times) => times + 1)
    },
    onHold: (held) => {
      isHeld.current = held
    },
  }
}

function differences(a: Uint32Array, b: Uint32Array): number {
  let count = Math.abs(a.length - b.length)
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) count += 1
  return count
}
