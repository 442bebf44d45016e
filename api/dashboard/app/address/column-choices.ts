// The columns of the list of devices as the address writes them: their names with commas between, and the width of those that
// were made wider or narrower, such as `status,name~260,metric:battery.percent,meta:site.room`.
import type { Codec } from './codecs.ts'

export interface ColumnChoice {
  /** A column of the index, `metric:` with the name of a metric, or `meta:` with the path of a leaf of the metadata. */
  readonly id: string
  readonly widthPx?: number | undefined
}

export const COLUMN_WIDTH = { leastPx: 56, mostPx: 800 } as const
export const COLUMNS_MAX = 20
/** The service sends no more metrics to one subscription of the fleet. */
export const METRIC_COLUMNS_MAX = 4
const METRIC = 'metric:'
const META = 'meta:'

export const metricOf = (id: string) => (id.startsWith(METRIC) ? id.slice(METRIC.length) : undefined)
export const metaOf = (id: string) => (id.startsWith(META) ? id.slice(META.length) : undefined)
export const metricColumn = (metric: string) => `${METRIC}${metric}`
export const metaColumn = (path: string) => `${META}${path}`

/** `isKnown` knows the columns of the index. */
export function readColumns(text: string, isKnown: (id: string) => boolean): readonly ColumnChoice[] {
  const found = new Map<string, ColumnChoice>()
  let metrics = 0
  for (const part of text.split(',')) {
    const [, written = '', width] = /^([^~]*)(?:~(\d{1,4}))?$/.exec(part) ?? []
    const id = decoded(written)
    const isMetric = (metricOf(id) ?? '') !== ''
    if (!isKnown(id) && !isMetric && (metaOf(id) ?? '') === '') continue
    if (found.has(id) || found.size >= COLUMNS_MAX || (isMetric && metrics >= METRIC_COLUMNS_MAX)) continue
    if (isMetric) metrics += 1
    found.set(id, { id, ...(width === undefined ? {} : { widthPx: widthOf(Number(width)) }) })
  }
  return [...found.values()]
}

export function writeColumns(choices: readonly ColumnChoice[]): string {
  return choices
    .map(({ id, widthPx }) => `${encoded(id)}${widthPx === undefined ? '' : `~${widthOf(widthPx)}`}`)
    .join(',')
}

export const widthOf = (px: number) =>
  Math.round(Math.min(COLUMN_WIDTH.mostPx, Math.max(COLUMN_WIDTH.leastPx, px)))

/** An address without a readable column shows those by default. */
export const columnChoices = (
  byDefault: readonly string[],
  isKnown: (id: string) => boolean,
): Codec<readonly ColumnChoice[]> => {
  const usual = byDefault.map((id) => ({ id }))
  return {
    read: (text) => {
      const found = text === undefined ? [] : readColumns(text, isKnown)
      return found.length === 0 ? usual : found
    },
    write: (choices) => {
      const text = writeColumns(choices)
      return text === byDefault.join(',') ? undefined : text
    },
  }
}

/** Names of metrics may hold what separates columns. */
const encoded = (id: string) =>
  id.replaceAll(/[%,~]/g, (mark) => encodeURIComponent(mark).replace('~', '%7E'))

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A lone percent sign.
    return ''
  }
}
