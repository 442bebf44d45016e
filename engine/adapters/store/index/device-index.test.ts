import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DEVICE_STATUSES } from '../../../../schemas/vocabulary.ts'
import type { DeviceRecord } from '../../../domain/device/record.ts'
import type { DeviceFilter, DevicePageQuery, DeviceSort } from '../../../ports/store.ts'
import { partitionOf } from '../testing/contract.ts'
import { anyDevice, anyFilter, anyPage } from '../testing/device-arbitraries.ts'
import { DeviceIndex } from './device-index.ts'
import { sortByKey } from './radix-sort.ts'

function below(group: string | undefined, root: string): boolean {
  return group === root || `${group ?? ''}`.startsWith(`${root}/`)
}

function passes(d: DeviceRecord, f: DeviceFilter): boolean {
  const q = f.q?.toLowerCase()
  return (
    (f.status === undefined || [f.status].flat().includes(d.status)) &&
    (f.type === undefined || d.type === f.type) &&
    (f.parentId === undefined || d.parentId === f.parentId) &&
    (f.group === undefined || (f.groupExact ? d.group === f.group : below(d.group, f.group))) &&
    (f.tags ?? []).every((tag) => d.tags.includes(tag)) &&
    (f.firmwareVersion === undefined || (d.firmwareVersion ?? '') === f.firmwareVersion) &&
    (q === undefined || d.name.toLowerCase().startsWith(q) || d.id.toLowerCase().startsWith(q)) &&
    (f.within === undefined || f.within.some((root) => below(d.group, root)))
  )
}

const FIELDS: Readonly<Record<DeviceSort, (d: DeviceRecord) => string | number>> = {
  created_at: (d) => d.createdAt,
  updated_at: (d) => d.updatedAt,
  name: (d) => d.name,
  device_id: (d) => d.id,
  status: (d) => d.status,
  type: (d) => d.type,
  group: (d) => d.group ?? '',
}

function findByHand(devices: readonly DeviceRecord[], filter: DeviceFilter, page: DevicePageQuery) {
  const field = FIELDS[page.sort ?? 'created_at']
  const way = (page.descending ?? page.sort === undefined) ? -1 : 1
  const order = (x: string | number, y: string | number) => (x < y ? -1 : x > y ? 1 : 0)
  const found = devices.filter((d) => passes(d, filter))
  found.sort((a, b) => way * order(field(a), field(b)) || order(a.id, b.id))
  const ids = found.slice(page.offset, page.offset + page.limit).map((d) => d.id)
  return { ids, total: found.length }
}

test('finds what filtering and sorting by hand finds, through any history of changes', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          put: fc.array(anyDevice, { maxLength: 12 }),
          removed: fc.array(fc.nat(11), { maxLength: 3 }),
          filter: anyFilter,
          page: anyPage,
        }),
        { maxLength: 6 },
      ),
      (steps) => {
        const index = new DeviceIndex()
        const devices = new Map<string, DeviceRecord>()
        for (const { put, removed, filter, page } of steps) {
          for (const d of put) {
            index.put(d, partitionOf(d.id))
            devices.set(d.id, d)
          }
          for (const at of removed) {
            const [id] = [...devices.values()].slice(at).map((d) => d.id)
            if (id === undefined) continue
            index.remove(id)
            devices.delete(id)
          }
          const request = Object.fromEntries(Object.entries(page).filter(([, v]) => v !== undefined))
          const asked: DevicePageQuery = { offset: page.offset, limit: page.limit, ...request }
          expect(index.find(filter, asked)).toEqual(findByHand([...devices.values()], filter, asked))
          for (const status of DEVICE_STATUSES)
            expect(index.countByStatus()[status]).toBe(
              [...devices.values()].filter((d) => d.status === status).length,
            )
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('sorting large sets by number is exact and stable either way', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 41 }), fc.boolean(), (range, descending) => {
      let state = range
      const keys = Float64Array.from({ length: 5_000 }, () => {
        state = (state * 48_271) % 2_147_483_647
        return (state * 1_000) % range
      })
      const slots = Uint32Array.from(keys.keys())
      const expected = [...slots].sort((a, b) => {
        const difference = (keys[a] ?? 0) - (keys[b] ?? 0)
        return (descending ? -difference : difference) || a - b
      })
      expect([...sortByKey(slots, (slot) => keys[slot] ?? 0, descending)]).toEqual(expected)
    }),
    { numRuns: 20 },
  )
})
