// As many devices as a page takes: they are found, ordered, counted and changed like a few, and the map gives way to shares.
import { expect, test } from 'vitest'
import { parseQuery } from '../address/filter.ts'
import { LIMITS } from '../limits.ts'
import { FleetColumns, STATUS } from './columns.ts'
import { facetsOf } from './facets.ts'
import { matchingRows } from './filter-rows.ts'
import { blocksOf, layoutOf } from './map-layout.ts'
import { RankCache, sortRows } from './sort-rows.ts'
import { device, FleetModel } from './testing/fleet-model.ts'

const LAST = LIMITS.indexDevicesMax - 1
const idOf = (i: number) => `robot-${String(i).padStart(6, '0')}`

test('a fleet of 200 000 devices is searched, ordered, grouped and followed', () => {
  const model = new FleetModel()
  for (let i = 0; i <= LAST; i++)
    model.put(
      device(idOf(i), { group: `eu/site-${i % 50}`, status: i % 1000 === 7 ? STATUS.error : STATUS.online }),
    )
  const columns = new FleetColumns()
  columns.load(model.index())
  expect(columns.size).toBe(LIMITS.indexDevicesMax)
  const context = { columns, nowMs: 0 }
  const found = matchingRows(parseQuery(idOf(LAST)), context)
  expect(Array.from(found, (row) => columns.ids[row])).toEqual([idOf(LAST)])

  const all = matchingRows([], context)
  const ranks = new RankCache()
  const descending = sortRows(all, { by: 'id', isDescending: true }, { columns, ranks, metrics: {} })
  const ends = [columns.ids[descending[0] ?? -1], columns.ids[descending[LAST] ?? -1]]
  expect(ends).toEqual([idOf(LAST), idOf(0)])
  // What needs a person comes first.
  const worst = sortRows(all, { by: 'attention', isDescending: false }, { columns, ranks, metrics: {} })
  expect(columns.status[worst[199] ?? -1]).toBe(STATUS.error)
  expect(columns.status[worst[200] ?? -1]).toBe(STATUS.online)
  expect(facetsOf([], context, all).status.find(({ value }) => value === 'error')?.count).toBe(200)

  const blocks = blocksOf({ columns, ranks, rows: all, depth: 2 })
  expect(blocks.map(({ rows }) => rows.length)).toEqual(Array.from({ length: 50 }, () => 4000))
  expect(layoutOf(blocks, 1000, 1080)).toBeUndefined()

  const before = new Map(model.devices)
  model.put(device(idOf(LAST), { group: 'eu/site-1', status: STATUS.offline }))
  model.remove(idOf(0))
  columns.apply(model.deltaSince(before))
  expect(columns.size).toBe(LAST)
  expect(columns.status[columns.rowOf(idOf(LAST)) ?? -1]).toBe(STATUS.offline)
})
