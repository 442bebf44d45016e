import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseQuery } from '../address/filter.ts'
import { attentionCases } from './attention.ts'
import { FLAG, STATUS } from './columns.ts'
import { facetsOf, matchesWithout } from './facets.ts'
import { matchingRows } from './filter-rows.ts'
import { findDevices } from './find-devices.ts'
import { RankCache, sortRows } from './sort-rows.ts'
import { columnsOf, device, type ModelDevice } from './testing/fleet-model.ts'

const SORT_COLUMNS = [
  'attention',
  'status',
  'name',
  'id',
  'group',
  'type',
  'seen',
  'firmware',
  'alert',
  'sync',
  'since',
] as const

const NOW = 10_000_000_000

const FLEET = columnsOf(
  device('robot-9', { name: 'Picker', group: 'eu/a', tags: ['floor-1', 'spare'], firmware: '1.9.0' }),
  device('robot-10', {
    name: 'picker ten',
    group: 'eu/b',
    status: STATUS.offline,
    flags: 0,
    firmware: '1.10.0',
  }),
  device('pump-1', { group: 'europe', status: STATUS.error, seen: NOW - 3_600_000, since: NOW - 60_000 }),
  device('pump-2', {
    group: 'eu',
    flags: FLAG.connected | FLAG.critical,
    seen: null,
    since: NOW - 7_200_000,
  }),
  device('old-1', { status: STATUS.decommissioned, flags: 0 }),
)

const ids = (text: string, columns = FLEET, metrics = {}) =>
  [...matchingRows(parseQuery(text), { columns, nowMs: NOW, metrics })].map((row) => columns.ids[row])

describe('filters', () => {
  test('words are found in ids and names, in any letter case', () => {
    expect(ids('PICK')).toEqual(['robot-9', 'robot-10'])
    expect(ids('pick ten')).toEqual(['robot-10'])
    expect(ids('pump-1,robot-9')).toEqual(['robot-9', 'pump-1'])
  })

  test('a group is its subtree, and with = itself alone', () => {
    expect(ids('group:eu')).toEqual(['robot-9', 'robot-10', 'pump-2'])
    expect(ids('group:=eu')).toEqual(['pump-2'])
    expect(ids('-group:eu')).toEqual(['pump-1'])
  })

  test('decommissioned devices are shown only to whoever asks for them', () => {
    expect(ids('')).not.toContain('old-1')
    expect(ids('status:decommissioned')).toEqual(['old-1'])
    expect(ids('id:old')).toEqual(['old-1'])
  })

  test('the status of decommissioned devices may be written in any letter case', () => {
    expect(ids('status:Decommissioned')).toEqual(['old-1'])
  })

  test('ages count from now, and what never happened is older than any', () => {
    expect(ids('seen:>59m status:error')).toEqual(['pump-1'])
    expect(ids('seen:<61m')).toEqual(['pump-1'])
    expect(ids('seen:never')).toEqual(['pump-2'])
    expect(ids('seen:>10000w')).toEqual(['pump-2'])
    expect(ids('since:<2m')).toEqual(['pump-1'])
  })

  test('versions are compared as versions', () => {
    expect(ids('fw:>1.9.0')).toEqual(['robot-10'])
    expect(ids('fw:1.9.0')).toEqual(['robot-9'])
  })

  test('flags, alerts and attention are found', () => {
    expect(ids('conn:no')).toEqual(['robot-10'])
    expect(ids('alert:critical')).toEqual(['pump-2'])
    expect(ids('alert:none')).toEqual(['robot-9', 'robot-10', 'pump-1'])
    expect(ids('is:attention')).toEqual(['robot-10', 'pump-1', 'pump-2'])
    expect(ids('tag:spare')).toEqual(['robot-9'])
    expect(ids('-tag:spare group:eu/a')).toEqual([])
  })

  test('a metric is compared where it is loaded', () => {
    const t = Float64Array.of(5, 15, Number.NaN, 25, 1)
    expect(ids('t:<20', FLEET, { t })).toEqual(['robot-9', 'robot-10'])
    expect(ids('t:<20')).toEqual([])
  })

  test('a term that cannot be understood fits nothing, negated or not', () => {
    for (const text of ['nokey:x', '-nokey:x', 'status:onlin', '-status:onlin', 'seen:10m', 'type:<a'])
      expect(ids(text), text).toEqual([])
  })

  test('a term that is still being typed leaves the list as it is', () => {
    expect(ids('status: pump')).toEqual(['pump-1', 'pump-2'])
  })

  test('more terms never show more devices', () => {
    const term = fc.constantFrom(
      'pick',
      'status:online,error',
      '-tag:spare',
      'group:eu',
      'nokey:x',
      'seen:>1h',
      'status:',
      'is:attention',
    )
    fc.assert(
      fc.property(fc.array(term), term, (terms, last) => {
        const before = new Set(ids(terms.join(' ')))
        for (const id of ids([...terms, last].join(' '))) expect(before.has(id)).toBe(true)
      }),
    )
  })
})

describe('order', () => {
  const sorted = (by: string, isDescending = false, columns = FLEET) => {
    const rows = matchingRows([], { columns, nowMs: NOW })
    const order = sortRows(rows, { by, isDescending }, { columns, ranks: new RankCache() })
    return [...order].map((row) => columns.ids[row])
  }

  test('ids are ordered as people count', () => {
    expect(sorted('id')).toEqual(['pump-1', 'pump-2', 'robot-9', 'robot-10'])
  })

  test('what needs a person comes first', () => {
    expect(sorted('attention')).toEqual(['pump-1', 'robot-10', 'pump-2', 'robot-9'])
  })

  test('the newest sign of life comes first, and devices without one last', () => {
    expect(sorted('seen')).toEqual(['pump-1', 'robot-9', 'robot-10', 'pump-2'])
  })

  test('devices without a value, a group or a firmware are last in both directions', () => {
    const columns = columnsOf(
      device('d-1', { group: 'b', firmware: '1.10.0' }),
      device('d-2', { group: null, firmware: null }),
      device('d-3', { group: 'a', firmware: '1.9.0' }),
    )
    expect(sorted('group', false, columns)).toEqual(['d-3', 'd-1', 'd-2'])
    expect(sorted('group', true, columns)).toEqual(['d-1', 'd-3', 'd-2'])
    expect(sorted('firmware', true, columns)).toEqual(['d-1', 'd-3', 'd-2'])
    const heat = Float64Array.of(20, Number.NaN, 90)
    const byHeat = (isDescending: boolean) => {
      const context = { columns, ranks: new RankCache(), metrics: { 'metric:heat': heat } }
      const order = sortRows(Uint32Array.of(0, 1, 2), { by: 'metric:heat', isDescending }, context)
      return [...order].map((row) => columns.ids[row])
    }
    expect(byHeat(false)).toEqual(['d-1', 'd-3', 'd-2'])
    expect(byHeat(true)).toEqual(['d-3', 'd-1', 'd-2'])
  })

  test('every order has each row once, whatever it is by', () => {
    const some = fc.record({
      id: fc.stringMatching(/^[a-z0-9]{1,4}$/),
      status: fc.nat({ max: 4 }),
      group: fc.option(fc.constantFrom('a', 'b/c')),
      flags: fc.nat({ max: 63 }),
      seen: fc.option(fc.integer({ min: 1, max: 2 ** 41 })),
    })
    fc.assert(
      fc.property(
        fc.uniqueArray(some, { selector: ({ id }) => id }),
        fc.constantFrom(...SORT_COLUMNS),
        fc.boolean(),
        (devices, by, isDescending) => {
          const columns = columnsOf(...devices.map(({ id, ...others }) => device(id, others)))
          expect([...sorted(by, isDescending, columns)].sort()).toEqual(devices.map(({ id }) => id).sort())
        },
      ),
    )
  })

  test('every order by last seen is one by the seconds', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 2 ** 41 })), (times) => {
        const columns = columnsOf(...times.map((seen, i) => device(`d${i}`, { seen })))
        const seconds = sorted('seen', false, columns).map((id) => {
          return Math.floor((columns.seen[columns.rowOf(id ?? '') ?? 0] ?? 0) / 1000)
        })
        expect(seconds).toEqual(seconds.toSorted((a, b) => b - a))
      }),
    )
  })
})

describe('facets', () => {
  const facets = (text: string) => {
    const context = { columns: FLEET, nowMs: NOW }
    const query = parseQuery(text)
    return facetsOf(query, context, matchingRows(query, context))
  }

  test('a group counts what is below it', () => {
    expect(facets('').group).toEqual([
      { value: 'eu', count: 3 },
      { value: 'eu/a', count: 1 },
      { value: 'eu/b', count: 1 },
      { value: 'europe', count: 1 },
    ])
  })

  test('a facet leaves its own terms aside and follows the others', () => {
    const { status, tag } = facets('status:error group:eu')
    expect(status).toEqual([
      { value: 'online', count: 2 },
      { value: 'offline', count: 1 },
    ])
    expect(tag).toEqual([])
  })

  test('for a filter that fits nothing each term is told with what would fit without it', () => {
    const query = parseQuery('group:eu status:error')
    expect(matchesWithout(query, { columns: FLEET, nowMs: NOW })).toEqual([1, 3])
  })
})

describe('finding', () => {
  test('beginnings come before words, and words before letters in between', () => {
    const columns = columnsOf(
      device('a-pump'),
      device('x', { name: 'p u m p' }),
      device('pump'),
      device('lump'),
    )
    expect(findDevices('pump', columns, 10).map((row) => columns.ids[row])).toEqual(['pump', 'a-pump', 'x'])
    expect(findDevices('pump', columns, 1).map((row) => columns.ids[row])).toEqual(['pump'])
    expect(findDevices(' ', columns, 10)).toEqual([])
  })
})

describe('attention', () => {
  const cases = (...devices: readonly ModelDevice[]) =>
    attentionCases({ columns: columnsOf(...devices), nowMs: NOW })
  const many = (count: number, changes: Partial<ModelDevice>, from = 0) =>
    Array.from({ length: count }, (_, i) => device(`d${from + i}`, changes))
  const lost = { status: STATUS.offline, group: 'eu/s', since: NOW - 120_000, flags: 0 }

  test('a group that lost five devices within ten minutes is one case with a filter for exactly those', () => {
    const devices = [...many(5, lost), ...many(200, { group: 'eu/s' }, 10)]
    const [found] = cases(...devices)
    expect(found).toMatchObject({ kind: 'lost', group: 'eu/s', count: 5, at: NOW - 120_000 })
    expect(ids(found?.query ?? '', columnsOf(...devices)).length).toBe(5)
  })

  test('devices that are away for longer are no case of loss', () => {
    expect(cases(...many(8, { ...lost, since: NOW - 900_000 }))).toEqual([])
  })

  test('one lost device of many is none', () => {
    expect(cases(...many(1, lost), ...many(3, { group: 'eu/s' }, 5))).toEqual([])
  })

  test('broken devices come before flapping ones', () => {
    const devices = [
      device('a', { flags: FLAG.connected | FLAG.flapping }),
      device('b', { status: STATUS.error }),
      device('c', { flags: FLAG.connected | FLAG.outOfSync, since: NOW - 3_700_000 }),
    ]
    expect(cases(...devices).map(({ kind }) => kind)).toEqual(['error', 'flapping', 'out-of-sync'])
  })
})
