// Rules about the fleet against an oracle that looks at every second with the whole history.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { FleetLeaf } from '../../../schemas/alert-condition.ts'
import type { RuleRequestBody } from '../../../schemas/alert-rule.ts'
import { Micros, Millis } from '../../../schemas/ids.ts'
import { newPackr } from '../packing.ts'
import { compileRule } from './compile.ts'
import { type FleetInstance, judgeFleet, newFleetInstance } from './fleet-instance.ts'
import { fleetLeafResults } from './fleet-truth.ts'
import { TRUTH } from './leaf-truth.ts'
import { createRule } from './rule.ts'

const START = Date.parse('2026-03-02T10:00:00Z')
const MEMBERS = 10
const packr = newPackr()

const OF = { kind: 'state', in: ['offline'] } as const

function ruleOf(forSec: number, keepSec: number, wish: Partial<RuleRequestBody> = {}) {
  const condition: FleetLeaf = { kind: 'fleet', of: OF, op: '>=', value: 50, unit: 'percent' }
  const made = createRule(
    {
      name: 'half',
      target: { type: 'all' },
      condition,
      for_sec: forSec,
      keep_firing_for_sec: keepSec,
      flap: { episodes: 20 },
      ...wish,
    },
    { id: 'rul_1', by: 'usr_ann', now: Millis(START) },
  )
  if (made.kind === 'mistakes') throw new Error('a mistake')
  return compileRule(made.rule)
}

const second = fc.record({
  offline: fc.integer({ min: 0, max: MEMBERS }),
  /** Another leader takes over. */
  handOver: fc.integer({ min: 0, max: 6 }).map((roll) => roll === 0),
})

test('an alert of the fleet moves as an oracle says, whoever leads', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(0, 0, 2, 5),
      fc.constantFrom(0, 0, 3),
      fc.array(second, { minLength: 38, maxLength: 38 }),
      (forSec, keepSec, seconds) => {
        const rule = ruleOf(forSec, keepSec)
        let instance: FleetInstance = newFleetInstance(rule, '', undefined)
        const moves: (readonly [number, string])[] = []
        const ids = new Set<string>()
        seconds.forEach(({ offline, handOver }, at) => {
          // What is saved is all that the next leader has.
          if (handOver) instance = packr.unpack(packr.pack(instance)) as FleetInstance
          const groups = [{ group: '', members: MEMBERS, matching: offline }]
          const counts = { ruleId: rule.id, revision: 1, leaves: [{ kind: 'counts' as const, groups }] }
          const judged = judgeFleet(instance, rule, {
            leaves: fleetLeafResults(rule, counts, { group: '', before: instance.truths }),
            now: Micros((START + at * 1_000) * 1_000),
            isEvent: false,
            mutedBy: () => [],
            message: () => 'x',
          })
          instance = judged.instance
          for (const { event, alert } of judged.moves) {
            moves.push([at, event])
            if (event === 'fired') ids.add(alert.id)
          }
        })
        const truths = seconds.map(({ offline }) => offline * 10 >= 50)
        const expected = foretold(truths, forSec, keepSec)
        expect(moves).toEqual(expected)
        expect(ids.size).toBe(expected.filter(([, event]) => event === 'fired').length)
      },
    ),
    { numRuns: 1_000 },
  )
})

function foretold(
  truths: readonly boolean[],
  forSec: number,
  keepSec: number,
): (readonly [number, string])[] {
  const told: (readonly [number, string])[] = []
  let isOpen = false
  truths.forEach((isTrue, at) => {
    let first = at
    while (first > 0 && truths[first - 1] === isTrue) first--
    const lasted = at - first
    if (!isOpen && isTrue && lasted >= forSec) {
      isOpen = true
      told.push([at, 'fired'])
    } else if (isOpen && !isTrue && lasted >= keepSec) {
      isOpen = false
      told.push([at, 'resolved'])
    }
  })
  return told
}

test('between moves nothing is saved', () => {
  const rule = ruleOf(0, 0)
  let instance = newFleetInstance(rule, '', undefined)
  let changes = 0
  for (let at = 0; at < 100; at++) {
    const groups = [{ group: '', members: MEMBERS, matching: 5 + (at % 5) }]
    const counts = { ruleId: rule.id, revision: 1, leaves: [{ kind: 'counts' as const, groups }] }
    const { instance: after } = judgeFleet(instance, rule, {
      leaves: fleetLeafResults(rule, counts, { group: '', before: instance.truths }),
      now: Micros((START + at * 1_000) * 1_000),
      isEvent: false,
      mutedBy: () => [],
      message: () => 'x',
    })
    if (after !== instance) changes++
    instance = after
  }
  expect(changes).toBe(1)
})

test('what clears an alert of the fleet does so outside the windows of its rule, too', () => {
  const rule = ruleOf(0, 0, {
    active: [{ start: '10:00', duration_min: 1, tz: 'UTC' }],
    clear: { kind: 'fleet', of: OF, op: '<', value: 20, unit: 'percent' },
  })
  let instance = newFleetInstance(rule, '', undefined)
  const moves: (readonly [number, string])[] = []
  const states: readonly (readonly [at: number, offline: number])[] = [
    [0, 6],
    [70, 4],
    [80, 1],
  ]
  for (const [at, offline] of states) {
    const groups = [{ group: '', members: MEMBERS, matching: offline }]
    const leaf = { kind: 'counts' as const, groups }
    const counts = { ruleId: rule.id, revision: 1, leaves: [leaf, leaf] }
    const judged = judgeFleet(instance, rule, {
      leaves: fleetLeafResults(rule, counts, { group: '', before: instance.truths }),
      now: Micros((START + at * 1_000) * 1_000),
      isEvent: false,
      mutedBy: () => [],
      message: () => 'x',
    })
    instance = judged.instance
    moves.push(...judged.moves.map(({ event }) => [at, event] as const))
  }
  expect(moves).toEqual([
    [0, 'fired'],
    [80, 'resolved'],
  ])
})

test('a changed rule of the fleet does not count an alert that is still true once more', () => {
  const [rule, changed] = [50, 60].map((value) =>
    ruleOf(0, 0, { condition: { kind: 'fleet', of: OF, op: '>=', value, unit: 'percent' } }),
  )
  if (rule === undefined || changed === undefined) throw new Error('no rules')
  let instance = newFleetInstance(rule, '', undefined)
  for (const [second, each] of [rule, changed].entries()) {
    const groups = [{ group: '', members: MEMBERS, matching: 8 }]
    const counts = { ruleId: each.id, revision: 1, leaves: [{ kind: 'counts' as const, groups }] }
    instance = judgeFleet(instance, each, {
      leaves: fleetLeafResults(each, counts, { group: '', before: [] }),
      now: Micros((START + second * 1_000) * 1_000),
      isEvent: false,
      mutedBy: () => [],
      message: () => 'x',
    }).instance
  }
  expect(instance.alerts.open).toHaveLength(1)
  expect(instance.count).toBe(1)
})

test.each([
  ['>', 50, 50_001],
  ['<', 100, 99_999],
] as const)('a share %s %d percent holds by a single device of many', (op, value, matching) => {
  const rule = ruleOf(0, 0, { condition: { kind: 'fleet', of: OF, op, value, unit: 'percent' } })
  const groups = [{ group: '', members: 100_000, matching }]
  const counts = { ruleId: rule.id, revision: 1, leaves: [{ kind: 'counts' as const, groups }] }
  expect(fleetLeafResults(rule, counts, { group: '', before: [] })).toMatchObject([{ truth: TRUTH.yes }])
})

test('an alert of the fleet shows the values of the metric that it is about', () => {
  const over = (metric: string) =>
    ({ kind: 'fleet_metric', metric, agg: 'avg', op: '>', value: 10, every_sec: 10 }) as const
  const rule = ruleOf(0, 0, { condition: { any: [over('a'), over('b')] } })
  const judge = (before: FleetInstance, second: number, values: readonly number[]) =>
    judgeFleet(before, rule, {
      leaves: values.map((value) => ({ truth: value > 10 ? TRUTH.yes : TRUTH.no, value, isNoData: false })),
      now: Micros((START + second * 1_000) * 1_000),
      isEvent: false,
      mutedBy: () => [],
      message: () => '',
    })
  const fired = judge(newFleetInstance(rule, '', undefined), 1, [1, 50])
  const both = judge(fired.instance, 2, [20, 50])
  const ended = judge(both.instance, 3, [3, 2])
  const told = [...fired.moves, ...both.moves, ...ended.moves]
  expect(told.map(({ event, alert: { metric, value } }) => [event, metric, value])).toEqual([
    ['fired', 'b', 50],
    ['resolved', 'b', 2],
  ])
})
