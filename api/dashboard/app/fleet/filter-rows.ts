// The filter applied to the index: each term becomes a test of a row, and a row that passes all of them fits.

import { type FilterKey, isFilterKey, type Query, type Term } from '../address/filter.ts'
import { durationMs, numberOf, problemOf } from '../address/filter-check.ts'
import { FLAG, type FleetColumns, STATUS, STATUS_WORDS } from './columns.ts'
import { compare, naturalKey } from './natural-order.ts'

/** Latest values of metrics that are loaded as columns; NaN where a device has none. */
export type MetricColumns = Readonly<Record<string, Float64Array>>
export type RowTest = (row: number) => boolean

export interface FilterContext {
  readonly columns: FleetColumns
  /** The service's time. */
  readonly nowMs: number
  readonly metrics?: MetricColumns
}

const NOTHING: RowTest = () => false

/** The rows that fit, in the order of the index. Devices that were decommissioned are left out unless asked for. */
export function matchingRows(query: Query, context: FilterContext): Uint32Array {
  const { columns } = context
  const tests = query.flatMap((term) => testOf(term, context) ?? [])
  const isRetiredAsked = query.some(asksForRetired)
  const found = new Uint32Array(columns.rowsCount)
  let count = 0
  for (let row = 0; row < columns.rowsCount; row++) {
    if (columns.isAlive[row] === 0) continue
    if (!isRetiredAsked && columns.status[row] === STATUS.decommissioned) continue
    if (tests.every((test) => test(row))) {
      found[count] = row
      count += 1
    }
  }
  return found.subarray(0, count)
}

function asksForRetired({ name, isNegated, values }: Term): boolean {
  if (isNegated || values.length === 0) return false
  return (
    name === 'id' || (name === 'status' && values.some((value) => value.toLowerCase() === 'decommissioned'))
  )
}

/** Undefined for a term that is still being typed. */
function testOf(term: Term, context: FilterContext): RowTest | undefined {
  const { name, operator, values, isNegated } = term
  if (problemOf(term, Object.keys(context.metrics ?? {})) !== undefined) return NOTHING
  if (values.length === 0) return undefined
  const metric = name === undefined ? undefined : context.metrics?.[name]
  const test =
    metric !== undefined
      ? metricTest(metric, term)
      : isFilterKey(name)
        ? keyTest(name, { operator, values }, context)
        : wordTest(values, context.columns)
  return isNegated ? (row) => !test(row) : test
}

function wordTest(values: readonly string[], { texts }: FleetColumns): RowTest {
  const wanted = values.map((value) => value.toLowerCase())
  return (row) => wanted.some((value) => texts[row]?.includes(value))
}

function metricTest(column: Float64Array, { operator, values }: Term): RowTest {
  const bounds = values.flatMap((value) => numberOf(value) ?? [])
  return (row) => {
    // A comparison with NaN is false, so a device without the value never fits.
    const value = column[row] ?? Number.NaN
    return bounds.some((bound) =>
      operator === '<' ? value < bound : operator === '>' ? value > bound : value === bound,
    )
  }
}

type FilterTerm = Pick<Term, 'operator' | 'values'>

function keyTest(key: FilterKey, asked: FilterTerm, { columns, nowMs }: FilterContext): RowTest {
  const { operator, values } = asked
  const lower = values.map((value) => value.toLowerCase())
  switch (key) {
    case 'status': {
      const wanted = new Set(lower.map((value) => STATUS_WORDS.indexOf(value)))
      return (row) => wanted.has(columns.status[row] ?? -1)
    }
    case 'type':
      return placeTest(columns.type, columns.types.words, (word) => lower.includes(word.toLowerCase()))
    case 'group':
      return placeTest(columns.group, columns.groups.words, (word) =>
        values.some((value) => word === value || (operator !== '=' && word.startsWith(`${value}/`))),
      )
    case 'fw':
      return placeTest(columns.firmware, columns.firmwares.words, (word) => isVersion(word, asked))
    case 'tag': {
      const wanted = new Set(values.flatMap((value) => columns.tagWords.known(value) ?? []))
      return (row) => columns.tags[row]?.some((tag) => wanted.has(tag)) === true
    }
    case 'id':
      return (row) => {
        const id = columns.ids[row]?.toLowerCase() ?? ''
        return lower.some((value) => (operator === '=' ? id === value : id.startsWith(value)))
      }
    case 'parent':
      return (row) => values.includes(columns.parents[row] ?? '')
    case 'conn':
      return flagTest(columns, FLAG.connected, lower)
    case 'flapping':
      return flagTest(columns, FLAG.flapping, lower)
    case 'sync': {
      const isOut = flagTest(columns, FLAG.outOfSync, ['yes'])
      return (row) => lower.includes(isOut(row) ? 'no' : 'yes')
    }
    case 'seen':
      return values.includes('never') ? (row) => columns.seen[row] === 0 : ageTest(columns.seen, asked, nowMs)
    case 'since':
      return ageTest(columns.since, asked, nowMs)
    case 'alert':
      return alertTest(columns, lower)
    case 'is':
      return isTest(columns, lower)
  }
}

/** Judges each word once and not each row. */
function placeTest(column: Uint16Array, words: readonly string[], fits: (word: string) => boolean): RowTest {
  const wanted = Uint8Array.from(words, (word) => (word !== '' && fits(word) ? 1 : 0))
  return (row) => wanted[column[row] ?? 0] === 1
}

function isVersion(word: string, { operator, values }: FilterTerm): boolean {
  return values.some((value) => {
    if (operator === undefined || operator === '=') return word === value
    const order = compare(naturalKey(word), naturalKey(value))
    return operator === '<' ? order < 0 : order > 0
  })
}

function flagTest({ flags }: FleetColumns, flag: number, answers: readonly string[]): RowTest {
  return (row) => answers.includes(((flags[row] ?? 0) & flag) === 0 ? 'no' : 'yes')
}

function ageTest(column: Float64Array, { operator, values }: FilterTerm, nowMs: number): RowTest {
  const bounds = values.flatMap((value) => durationMs(value) ?? [])
  return (row) => {
    const at = column[row] ?? 0
    // What never happened is older than any age.
    const age = at === 0 ? Number.POSITIVE_INFINITY : nowMs - at
    return bounds.some((bound) => (operator === '<' ? age < bound : age > bound))
  }
}

function alertTest({ flags }: FleetColumns, asked: readonly string[]): RowTest {
  return (row) => {
    const bits = (flags[row] ?? 0) & (FLAG.warning | FLAG.critical)
    return asked.some((word) => {
      if (word === 'none') return bits === 0
      if (word === 'any') return bits !== 0
      return (bits & (word === 'critical' ? FLAG.critical : FLAG.warning)) !== 0
    })
  }
}

function isTest(columns: FleetColumns, asked: readonly string[]): RowTest {
  return (row) =>
    asked.some((word) => {
      if (word === 'attention') return needsAttention(columns, row)
      if (word === 'held') return ((columns.flags[row] ?? 0) & FLAG.held) !== 0
      return columns.parents[row] !== ''
    })
}

const TROUBLED = FLAG.flapping | FLAG.warning | FLAG.critical

/** A device that somebody should look at: gone, broken, flapping, or with an open alert that matters. */
export function needsAttention({ status, flags }: FleetColumns, row: number): boolean {
  const at = status[row]
  if (at === STATUS.decommissioned || at === STATUS.maintenance) return false
  return at === STATUS.offline || at === STATUS.error || ((flags[row] ?? 0) & TROUBLED) !== 0
}
