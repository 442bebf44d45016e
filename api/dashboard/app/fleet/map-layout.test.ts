import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FleetColumns, STATUS } from './columns.ts'
import { matchingRows } from './filter-rows.ts'
import { blocksOf, cellAt, cellPlace, cellsFrom, cellsWithin, layoutOf, nextCell } from './map-layout.ts'
import { RankCache } from './sort-rows.ts'
import { device, FleetModel } from './testing/fleet-model.ts'

function blocks(sizes: readonly number[], offline = 0) {
  const model = new FleetModel()
  sizes.forEach((size, group) => {
    for (let i = 0; i < size; i++)
      model.put(
        device(`d${group}-${i}`, {
          group: `site/${group}`,
          status: group === 1 && i < offline ? STATUS.offline : STATUS.online,
        }),
      )
  })
  const columns = new FleetColumns()
  columns.load(model.index())
  const rows = matchingRows([], { columns, nowMs: 0 })
  return blocksOf({ columns, ranks: new RankCache(), rows, depth: 2 })
}

describe('the map of the fleet', () => {
  test('the group with most trouble comes first, and in it the worst devices', () => {
    const [first] = blocks([3, 4], 2)
    expect(first).toMatchObject({ name: 'site/1', trouble: 0.5 })
    expect(first?.counts[STATUS.offline]).toBe(2)
  })

  test('every cell is found where it is drawn, and no two are at the same place', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 80, max: 900 }),
        (sizes, width) => {
          const layout = layoutOf(blocks(sizes), width, 4000)
          if (layout === undefined) return
          const places = new Set<string>()
          layout.blocks.forEach((at, block) => {
            for (let cell = 0; cell < at.block.rows.length; cell++) {
              const { x, y } = cellPlace(at, cell, layout.cellPx)
              places.add(`${x} ${y}`)
              expect(cellAt(layout, x + 1, y + 1)).toEqual({ block, cell })
              expect(x + layout.cellPx <= Math.max(width, layout.cellPx)).toBe(true)
              expect(y + layout.cellPx <= layout.height).toBe(true)
            }
          })
          expect(places.size).toBe(sizes.reduce((sum, size) => sum + size, 0))
        },
      ),
      { numRuns: 30 },
    )
  })

  test('fifty thousand devices have their cells beside what needs attention, whatever the number of their groups', () => {
    const of = (groups: number) =>
      Array.from({ length: groups }, (_, group) => ({
        name: `site-${group}`,
        rows: new Uint32Array(50_000 / groups),
        counts: [],
        trouble: 0,
      }))
    const hasCells = (groups: number) => layoutOf(of(groups), 782, 1080) !== undefined
    expect([1, 5, 10, 20, 40, 50].filter((groups) => !hasCells(groups))).toEqual([])
  })

  test('there is no layout where even the smallest cells do not fit', () => {
    expect(layoutOf(blocks([60]), 30, 20)).toBeUndefined()
  })

  test('cells between two corners are those that are drawn there, and cells in a row are those that arrows pass', () => {
    const layout = layoutOf(blocks([5, 3]), 400, 400)
    const [first, second] = layout?.blocks ?? []
    if (layout === undefined || first === undefined || second === undefined) throw new Error('it fits')
    const corner = cellPlace(first, 1, layout.cellPx)
    const inCell = { x: corner.x + 1, y: corner.y + 1 }
    expect(cellsWithin(layout, inCell, inCell)).toEqual([{ block: 0, cell: 1 }])
    expect(cellsWithin(layout, { x: 9_999, y: 9_999 }, { x: 0, y: 0 })).toHaveLength(8)
    const all = cellsFrom(layout, { block: 1, cell: 1 }, { block: 0, cell: 3 })
    expect(all).toEqual([
      { block: 0, cell: 3 },
      { block: 0, cell: 4 },
      { block: 1, cell: 0 },
      { block: 1, cell: 1 },
    ])
  })

  test('the arrows reach every cell', () => {
    const layout = layoutOf(blocks([5, 3]), 400, 400)
    if (layout === undefined) throw new Error('it fits')
    let at = { block: 0, cell: 0 }
    const seen = new Set([JSON.stringify(at)])
    for (let i = 0; i < 10; i++) {
      at = nextCell(layout, at, 'ArrowRight')
      seen.add(JSON.stringify(at))
    }
    expect(seen.size).toBe(8)
    expect(nextCell(layout, { block: 1, cell: 0 }, 'ArrowLeft').block).toBe(0)
  })
})
