import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { FleetDelta } from '../../../../schemas/ws.ts'
import { FleetColumns } from './columns.ts'
import { PendingDeltas } from './pending-deltas.ts'
import { device, FleetModel, type ModelDevice } from './testing/fleet-model.ts'

const text = fc.constantFrom('a', 'b', 'c')
const change = fc.record({
  id: fc.constantFrom('d1', 'd2', 'd3', 'd4', 'd5'),
  isRemoval: fc.boolean(),
  name: fc.constantFrom('Picker', 'picker 2', 'Größe'),
  status: fc.nat({ max: 5 }),
  type: text,
  group: fc.option(text),
  tags: fc.uniqueArray(text),
  parent: fc.option(text),
  firmware: fc.option(text),
  flags: fc.nat({ max: 63 }),
  seen: fc.option(fc.integer({ min: 1, max: 10_000 })),
  since: fc.nat({ max: 10_000 }),
})
/** Batches of changes; the service sends a frame after each. */
const batches = fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 12 })

function rowsOf(columns: FleetColumns): readonly ModelDevice[] {
  const rows: ModelDevice[] = []
  for (let row = 0; row < columns.rowsCount; row++)
    if (columns.isAlive[row] === 1)
      rows.push({
        id: columns.ids[row] ?? '',
        name: columns.names[row] ?? '',
        status: columns.status[row] ?? -1,
        type: columns.types.at(columns.type[row] ?? 0),
        group: columns.groups.at(columns.group[row] ?? 0) || null,
        tags: columns.tagsAt(row),
        parent: columns.parents[row] || null,
        firmware: columns.firmwares.at(columns.firmware[row] ?? 0) || null,
        flags: columns.flags[row] ?? -1,
        seen: columns.seen[row] || null,
        since: columns.since[row] ?? -1,
      })
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1))
}

const truthOf = (model: FleetModel) =>
  [...model.devices.values()].map(({ rev: _, ...row }) => row).sort((a, b) => (a.id < b.id ? -1 : 1))

/** Runs the changes in the model and gives the frame of each batch, with what the index was after it. */
function story(changes: readonly (readonly (ModelDevice & { readonly isRemoval: boolean })[])[]) {
  const model = new FleetModel()
  model.put(device('d1'))
  const frames: FleetDelta[] = []
  const indexes = [model.index()]
  for (const batch of changes) {
    const before = new Map(model.devices)
    for (const { isRemoval, ...changed } of batch)
      if (isRemoval) model.remove(changed.id)
      else model.put(changed)
    frames.push(slim(model.deltaSince(before), before))
    indexes.push(model.index())
  }
  return { model, frames, indexes }
}

/** Leaves the names out where none is new, as the service does. */
function slim(delta: FleetDelta, before: ReadonlyMap<string, ModelDevice>): FleetDelta {
  const { name, ...others } = delta
  const isSame = delta.device_id.every((id, i) => before.get(id)?.name === name?.[i])
  return isSame ? others : delta
}

describe('the index and its deltas', () => {
  test('whenever the index was read among the deltas, the columns are what the service has', () => {
    fc.assert(
      fc.property(batches, fc.nat({ max: 12 }), fc.nat({ max: 12 }), (changes, a, b) => {
        const { model, frames, indexes } = story(changes)
        // Subscribed before frame `from`; the index is read at any moment after that.
        const [from, read] = [Math.min(a, b, frames.length), Math.min(Math.max(a, b), frames.length)]
        const columns = new FleetColumns()
        const index = indexes[read]
        if (index !== undefined) columns.load(index)
        for (const frame of frames.slice(from)) columns.apply(frame)
        expect(rowsOf(columns)).toEqual(truthOf(model))
        expect(columns.size).toBe(model.devices.size)
      }),
    )
  })

  test('names that come after the index are those that the service has, whatever was told of a device meanwhile', () => {
    fc.assert(
      fc.property(batches, fc.array(fc.nat({ max: 12 }), { minLength: 3, maxLength: 3 }), (changes, at) => {
        const { model, frames, indexes } = story(changes)
        // The names are asked for at `told`, and come when the frames before `named` have been applied.
        const [read = 0, told = 0, named = 0] = [...at]
          .sort((a, b) => a - b)
          .map((n) => Math.min(n, frames.length))
        const columns = new FleetColumns()
        const [index, later] = [indexes[read], indexes[told]]
        if (index !== undefined) columns.load({ ...index, columns: { ...index.columns, name: [] } })
        frames.slice(read).forEach((frame, i) => {
          if (read + i === named && later !== undefined) columns.loadNames(later)
          columns.apply(frame)
        })
        if (named === frames.length && later !== undefined) columns.loadNames(later)
        expect(rowsOf(columns)).toEqual(truthOf(model))
      }),
    )
  })

  test('deltas that were put together for the page say the same as one after the other', () => {
    fc.assert(
      fc.property(batches, fc.array(fc.boolean(), { maxLength: 12 }), (changes, handOvers) => {
        const { model, frames, indexes } = story(changes)
        const columns = new FleetColumns()
        if (indexes[0] !== undefined) columns.load(indexes[0])
        const pending = new PendingDeltas()
        frames.forEach((frame, i) => {
          pending.add(frame)
          if (handOvers[i] === true) for (const made of pending.take()) columns.apply(made)
        })
        for (const made of pending.take()) columns.apply(made)
        expect(pending.isEmpty).toBe(true)
        expect(rowsOf(columns)).toEqual(truthOf(model))
      }),
    )
  })

  test('a second whole index replaces the first, even one of a service that counts anew', () => {
    fc.assert(
      fc.property(batches, batches, (one, other) => {
        const columns = new FleetColumns()
        const [first, second] = [story(one), story(other)]
        columns.load(first.model.index())
        columns.load(second.model.index())
        expect(rowsOf(columns)).toEqual(truthOf(second.model))
      }),
    )
  })

  test('what has changed since a cursor is added to what is there', () => {
    const model = new FleetModel()
    model.put(device('a'))
    model.put(device('b'))
    const columns = new FleetColumns()
    columns.load(model.index())
    const later = new FleetModel()
    for (const id of ['x', 'y', 'c']) later.put(device(id, { name: 'new' }))
    later.remove('x')
    later.remove('y')
    columns.load({ ...later.index(), removed: ['a'] })
    expect(rowsOf(columns).map(({ id }) => id)).toEqual(['b', 'c'])
  })

  test('a removal from before the index was read takes no device that has come back since', () => {
    const model = new FleetModel()
    model.put(device('a'))
    model.put(device('a'))
    const columns = new FleetColumns()
    columns.load(model.index())
    const pending = new PendingDeltas()
    pending.add({ device_id: [], rev: [], removed: ['a'], removed_rev: [1] })
    for (const made of pending.take()) columns.apply(made)
    expect(columns.size).toBe(1)
    columns.apply({ device_id: [], rev: [], removed: ['a'], removed_rev: [3] })
    expect(columns.size).toBe(0)
  })

  test('thousands of devices outgrow the first columns without a loss', () => {
    const model = new FleetModel()
    for (let i = 0; i < 5000; i++) model.put(device(`d${String(i).padStart(4, '0')}`, { seen: i + 1 }))
    const columns = new FleetColumns()
    columns.load(model.index())
    expect(columns.size).toBe(5000)
    expect(rowsOf(columns)).toEqual(truthOf(model))
  })

  test('a frame of values alone adds no device', () => {
    const columns = new FleetColumns()
    columns.apply({ device_id: ['a'], rev: [4], values: { t: [1] } })
    expect(columns.size).toBe(0)
  })
})
