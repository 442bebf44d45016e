import { expect, test } from 'vitest'
import type { DeviceId } from '../../../schemas/ids.ts'
import { Millis } from '../../../schemas/ids.ts'
import { type FleetPart, newRows, newSightings } from './row.ts'
import { placesOf } from './selection.ts'
import { FleetTable } from './table.ts'

const idOf = (text: string) => text as DeviceId

function part(source: string, ids: readonly string[], over: Partial<FleetPart> = {}): FleetPart {
  const rows = newRows()
  for (const id of ids) {
    rows.id.push(idOf(id))
    rows.rev.push(1)
    rows.seenAt.push(0)
    rows.name.push(`Name of ${id}`)
    rows.type.push('t')
    rows.group.push('g')
    rows.tags.push([])
    rows.parentId.push(undefined)
    rows.firmware.push(undefined)
    rows.status.push('offline')
    rows.flags.push(0)
    rows.since.push(Millis(1))
    rows.load.push(undefined)
  }
  const counts = { messages: 0, points: 0, lagMs: 0 }
  return { source, version: 1, rows, sightings: newSightings(), gone: [], isWhole: false, ...counts, ...over }
}

function shown(table: FleetTable): readonly string[] {
  return placesOf(table, {}).map((place) => String(table.ids[place]))
}

test('a device that is gone is in no answer, and clients that saw it can be told', () => {
  const table = new FleetTable('t', 100)
  table.applyParts([part('a', ['d1', 'd2'], { isWhole: true })])
  const before = table.version
  expect(table.applyParts([part('a', [], { gone: [idOf('d1'), idOf('nobody')] })])).toBe(true)
  expect(shown(table)).toEqual(['d2'])
  const place = table.placeOf(idOf('d1')) ?? -1
  expect(table.movedSince(before).get(place)).toEqual([{ type: 't', group: 'g', tags: [] }])
  expect(table.changedSince(before)).toEqual([place])
  expect(table.applyParts([part('a', [], { gone: [idOf('d1')] })])).toBe(false)
})

test('a device that was registered again is shown as a whole, with a greater rev', () => {
  const table = new FleetTable('t', 100)
  table.applyParts([part('a', ['d1'], { isWhole: true })])
  const place = table.placeOf(idOf('d1')) ?? -1
  table.applyParts([part('a', [], { gone: [idOf('d1')] })])
  const [version, rev = 0] = [table.version, table.revs[place]]
  table.applyParts([part('a', ['d1'], { gone: [idOf('d1')] })])
  expect(shown(table)).toEqual(['d1'])
  expect(table.wholeVersion[place]).toBeGreaterThan(version)
  expect(table.revs[place]).toBeGreaterThan(rev)
})

test('a complete report of a shard drops the devices that it leaves out, and those of lost shards', () => {
  const table = new FleetTable('t', 100)
  table.applyParts([part('a', ['d1', 'd2'], { isWhole: true }), part('b', ['d3', 'd4'], { isWhole: true })])
  table.applyParts([part('a', ['d2'], { isWhole: true }), part('b', [])])
  expect(shown(table)).toEqual(['d2', 'd3', 'd4'])
  // The next incarnation of the shard has another name.
  table.applyParts([part('a', []), part('b2', ['d3'], { isWhole: true })])
  expect(shown(table)).toEqual(['d2', 'd3'])
})
