// When rules about the fleet are judged, and what is saved of that.
import { expect, test } from 'vitest'
import type { RuleRequestBody } from '../../../schemas/alert-rule.ts'
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import {
  boundGroups,
  type FleetCounts,
  type LeafCounts,
  type LeafName,
} from '../../domain/alert/fleet-counts.ts'
import type { GroupCount } from '../../domain/alert/fleet-tally.ts'
import { decodeNotice } from '../../domain/alert/notice.ts'
import { createRule, type Rule } from '../../domain/alert/rule.ts'
import { partitionOf } from '../../domain/partition.ts'
import { LIMITS } from '../../limits.ts'
import type { FeedEvent } from '../../ports/feed.ts'
import type { Save } from '../../ports/store.ts'
import { StandingTime } from '../../testing/standing-time.ts'
import { START } from '../shard/testing/items.ts'
import { FleetAlerts } from './fleet-alerts.ts'

const OFFLINE = { kind: 'fleet', of: { kind: 'state', in: ['offline'] }, op: '>', value: 0 } as const
const HOT = { kind: 'fleet_metric', metric: 't', agg: 'avg', op: '>', value: 10, every_sec: 3_600 } as const

function ruleOf(wish: Partial<RuleRequestBody>, id = 'rul_1', revision = 1): Rule {
  const request = { name: id, target: { type: 'all' }, condition: OFFLINE, ...wish } as const
  const made = createRule(request, { id, by: 'usr_1', now: START })
  if (made.kind === 'mistakes') throw new Error(JSON.stringify(made.errors))
  return { ...made.rule, revision }
}

function openAlerts(rules: readonly Rule[]) {
  const store = new MemoryStore({ partitionOf })
  const time = new StandingTime(START)
  const saves: Save[] = []
  const frames: FeedEvent[] = []
  const book = { settings: { revision: 1, rules, silences: [] } }
  const world = {
    /** There are ten members: how many are offline, and the sum of their values. */
    ...{ offline: 0, sum: 0 },
    groups: undefined as readonly GroupCount[] | undefined,
    /** What the owners of devices do when they are asked. */
    asked: (_sums: readonly LeafName[]): void => {},
  }
  const alerts = new FleetAlerts({
    store: {
      documents: store.documents,
      save: async (save) => {
        saves.push(save)
        await store.save(save)
      },
    },
    claims: [],
    // It only reads the settings.
    book: book as never,
    clock: time,
    schedule: time,
    counts: async (sums): Promise<FleetCounts> => {
      world.asked(sums)
      const leaf = (ruleId: string, place: number, kind: string): LeafCounts => {
        const whole = { group: '', members: 10, matching: world.offline }
        if (kind === 'fleet') return { kind: 'counts', groups: boundGroups(world.groups ?? [whole]) }
        if (!sums.some((sum) => sum.ruleId === ruleId && sum.place === place)) return { kind: 'none' }
        return { kind: 'sums', groups: [{ group: '', count: 10, sum: world.sum, min: 0, max: world.sum }] }
      }
      return {
        isCaughtUp: true,
        ...{ open: 0, overflowing: 0 },
        rules: book.settings.rules.map(({ rule_id: ruleId, revision, condition }) => ({
          ...{ ruleId, revision },
          leaves: 'kind' in condition ? [leaf(ruleId, 0, condition.kind)] : [],
        })),
      }
    },
    failures: { all: () => [], isCovered: async () => false },
    publish: (events) => void frames.push(...events),
    stored: () => {},
    failed: () => {},
  })
  const settings = (changed: readonly Rule[]) => {
    book.settings = { revision: book.settings.revision + 1, rules: changed, silences: [] }
  }
  /** So many rounds, half a second apart. */
  const look = async (rounds = 1) => {
    for (let round = 0; round < rounds; round++) {
      time.at += 500
      await alerts.poll()
    }
  }
  const open = () => alerts.list({ states: ['firing', 'recovering'], limit: 10 }).alerts
  const notices = () =>
    saves
      .flatMap((save) => save.notices.map(({ bytes }) => decodeNotice(bytes)))
      .map(({ event, ruleId }) => `${event} ${ruleId}`)
  return { alerts, world, saves, frames, look, settings, open, time, notices }
}

test('rounds in which nothing changes save nothing', async () => {
  const { look, saves } = openAlerts([ruleOf({})])
  await look(3)
  const before = saves.length
  await look(30)
  expect(saves.length - before).toBe(0)
})

test('an alert is firing in everything that says that it fired', async () => {
  const { look, world, saves, frames } = openAlerts([ruleOf({})])
  await look()
  world.offline = 5
  await look()
  const notices = saves.flatMap((save) => save.notices.map(({ bytes }) => decodeNotice(bytes).alert))
  expect(notices).toMatchObject([{ state: 'firing', value: 5 }])
  expect(frames).toMatchObject([{ event: 'alert.fired', alert: { state: 'firing', value: 5 } }])
  const rows = saves.flatMap((save) => save.history.map(({ body }) => JSON.parse(body)))
  expect(rows).toMatchObject([{ event: 'alert.fired', state: 'firing', value: 5 }])
})

test('a rule about values is judged anew at once when it changes', async () => {
  const { look, world, settings, open } = openAlerts([ruleOf({ condition: HOT })])
  world.sum = 150
  await look()
  expect(open()).toHaveLength(1)
  settings([ruleOf({ condition: { ...HOT, value: 100 } }, 'rul_1', 2)])
  await look(2)
  expect(open()).toEqual([])
})

test('a rule about values does not miss its turn because an owner did not answer', async () => {
  const { look, world, open } = openAlerts([ruleOf({ condition: HOT })])
  world.sum = 150
  world.asked = () => {
    throw new Error('no owner')
  }
  await look()
  world.asked = () => {}
  await look(2 * 10)
  expect(open()).toHaveLength(1)
})

test('a rule that another one inhibits is not told of if both fire at the same moment', async () => {
  const muted = ruleOf({ inhibited_by: ['rul_2'] })
  const other = ruleOf({ severity: 'critical' }, 'rul_2')
  const { look, world, notices, open } = openAlerts([muted, other])
  world.offline = 5
  await look()
  expect(open()).toHaveLength(2)
  expect(notices()).toEqual(['fired rul_2'])
})

test('an alert that fires when its rule was quiet for a day is told of once', async () => {
  const { look, world, notices, time } = openAlerts([ruleOf({})])
  world.offline = 5
  await look()
  world.offline = 0
  await look()
  time.at += 25 * 3_600_000
  world.offline = 5
  await look(3)
  expect(notices()).toEqual(['fired rul_1', 'resolved rul_1', 'fired rul_1'])
})

test('an alert of a group stays open when the group is one too many to be counted', async () => {
  const { look, world, open } = openAlerts([ruleOf({ condition: { ...OFFLINE, group_level: 1 } })])
  const groupOf = (name: string, matching: number) => ({ group: name, members: 10, matching })
  const well = Array.from({ length: LIMITS.fleetGroupsMax - 1 }, (_, i) => groupOf(`g${i}`, 0))
  world.groups = [...well, groupOf('west', 5)]
  await look()
  expect(open()).toMatchObject([{ group: 'west', state: 'firing' }])
  world.groups = [groupOf('east', 0), ...well, groupOf('west', 5)]
  await look()
  expect(open()).toMatchObject([{ group: 'west', state: 'firing' }])
  world.groups = [...well, groupOf('west', 0)]
  await look()
  expect(open()).toEqual([])
})
