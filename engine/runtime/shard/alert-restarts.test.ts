// What a shard remembers about alerts across a crash, and what it forgets when a rule is deleted.
import { describe, expect, test } from 'vitest'
import type { RuleRequestBody } from '../../../schemas/alert-rule.ts'
import { CommandId, Millis } from '../../../schemas/ids.ts'
import type { Alerts } from '../../domain/alert/alerts-part.ts'
import { createRule, type Rule } from '../../domain/alert/rule.ts'
import { newPackr } from '../../domain/packing.ts'
import type { DevicePart } from '../../ports/store.ts'
import type { WorkResult } from './protocol.ts'
import { deviceOf, request, START, type TestItem, telemetry } from './testing/items.ts'
import { at, ShardBench } from './testing/shard.ts'

const online = deviceOf('a', { status: 'online' })

function ruleOf(
  condition: RuleRequestBody['condition'],
  id = 'rul_1',
  target: RuleRequestBody['target'] = { type: 'all' },
): Rule {
  const made = createRule({ name: id, target, condition }, { id, by: 'usr_ann', now: Millis(START - 1_000) })
  if (made.kind === 'mistakes') throw new Error(JSON.stringify(made.errors))
  return made.rule
}

const settingsOf = (revision: number, ...rules: readonly Rule[]) => ({ revision, rules, silences: [] })
const savedAlerts = ({ proposal }: WorkResult) =>
  proposal.parts.flatMap(({ part, bytes }): Alerts[] => (part === 'alerts' ? [newPackr().unpack(bytes)] : []))
const firing = { states: ['firing', 'recovering'], limit: 9 } as const
const countIn = (bench: ShardBench) => bench.ask({ kind: 'alerts', query: firing }).alerts[0]?.['count']

/** Applies these items one by one in a shard that is then lost, and opens it again with what was saved. */
function crashed(rule: Rule, items: readonly TestItem[]) {
  const bench = new ShardBench([online])
  bench.work({ alertSettings: settingsOf(1, rule) })
  const entries = items.map((item, i) => bench.entry(i + 1, [item]))
  let parts: Partial<Record<DevicePart, Uint8Array>> = {}
  let saves = 0
  for (const entry of entries) {
    const result = bench.work({ entries: [entry] })
    saves += savedAlerts(result).length
    const saved = result.proposal.parts.map(({ part, bytes }) => [part, bytes] as const)
    parts = { ...parts, ...Object.fromEntries(saved) }
  }
  bench.work()
  const again = new ShardBench([], { applied: entries.length })
  again.shard.run({
    kind: 'load',
    devices: [{ device: online, vitals: undefined, parts, commands: [] }],
    applied: [],
    alertSettings: settingsOf(1, rule),
    now: at(60),
  })
  return { bench, again, entries, saves }
}

test('the count of parked messages is saved with the alert, and reading the log again adds nothing', () => {
  const items = [1, 2, 3].map((ms) => telemetry('a', ms, 'no json'))
  const { bench, again, entries, saves } = crashed(ruleOf({ kind: 'dead_letter' }), items)
  expect([countIn(bench), saves, countIn(again)]).toEqual([3, 3, 3])
  again.work({ entries })
  expect(countIn(again)).toBe(3)
  again.work({ entries: [again.entry(4, [telemetry('a', 40, 'no json')])] })
  again.work()
  expect(countIn(again)).toBe(4)
})

test('the count of log lines is restored from the log, without a save per line', () => {
  const lines = (ms: number, ...texts: readonly string[]): TestItem => ({
    ...telemetry('a', ms, JSON.stringify(texts.map((message) => ({ level: 'error', message })))),
    suffix: 'log',
  })
  const rule = ruleOf({ kind: 'log', level: 'error' })
  const items = [lines(1, 'warm', 'hot', 'too hot'), lines(2, 'hot'), lines(3, 'hot')]
  const { bench, again, entries, saves } = crashed(rule, items)
  expect([countIn(bench), saves, countIn(again)]).toEqual([5, 1, 1])
  again.work({ entries })
  expect(countIn(again)).toBe(5)
  again.work({ entries })
  expect(countIn(again)).toBe(5)
})

test('commands that expire at the same moment count one by one', () => {
  const bench = new ShardBench([online])
  bench.work({ alertSettings: settingsOf(1, ruleOf({ kind: 'command_failed' })) })
  const commands = ['c1', 'c2', 'c3'].map((id) =>
    request('a', 1, { kind: 'command', id: CommandId(id), wish: { name: 'go', timeoutSec: 1 } }),
  )
  bench.apply(commands)
  bench.work({ sweep: at(1_500), now: at(1_500) })
  expect(countIn(bench)).toBe(3)
})

test('memory of a deleted rule is dropped with the next change of the device', () => {
  const bench = new ShardBench([online])
  const [hot, cold] = [
    ruleOf({ kind: 'threshold', metric: 't', op: '>', value: 10 }, 'rul_hot'),
    ruleOf({ kind: 'threshold', metric: 't', op: '<', value: 0 }, 'rul_cold'),
  ]
  const memosOf = (result: WorkResult) =>
    savedAlerts(result).map(({ memos }) => memos.map(({ ruleId }) => ruleId))
  bench.work({ alertSettings: settingsOf(1, hot, cold) })
  bench.apply([telemetry('a', 1, '{"t":11}')])
  expect(memosOf(bench.apply([telemetry('a', 2, '{"t":5}')]))).toEqual([['rul_hot']])
  bench.work({ alertSettings: settingsOf(2, cold) })
  expect(memosOf(bench.work({ sweep: at(250) }))).toEqual([])
  expect(memosOf(bench.apply([telemetry('a', 300, '{"t":-1}')]))).toEqual([['rul_cold']])
})

describe('a device that no rule fitted for a while', () => {
  const hot = (id: string) => ruleOf({ kind: 'threshold', metric: 't', op: '>', value: 10 }, id)

  test('is judged by its latest values, not by those that the last rule saw', () => {
    const bench = new ShardBench([online])
    bench.work({ alertSettings: settingsOf(1, hot('rul_old')) })
    bench.apply([telemetry('a', 1, '{"t":11}')])
    bench.work({ alertSettings: settingsOf(2), sweep: at(250) })
    bench.apply([telemetry('a', 300, '{"t":5}')])
    bench.work({ alertSettings: settingsOf(3, hot('rul_new')), sweep: at(500) })
    expect(bench.ask({ kind: 'alerts', query: firing }).total).toBe(0)
    bench.work({ alertSettings: settingsOf(4), sweep: at(750) })
    bench.apply([telemetry('a', 800, '{"t":12}')])
    bench.work({ alertSettings: settingsOf(5, hot('rul_old')), sweep: at(1_000) })
    expect(bench.ask({ kind: 'alerts', query: firing }).alerts).toMatchObject([{ value: 12 }])
  })

  test('is silent from its last message on when a rule about silence begins to fit', () => {
    const bench = new ShardBench([online])
    const silent = ruleOf({ kind: 'absence', for_sec: 20 }, 'rul_silent', { type: 'group', value: 'hall' })
    bench.work({ alertSettings: settingsOf(1, silent) })
    bench.apply([telemetry('a', 30_000, '{"t":1}')])
    bench.apply([request('a', 31_000, { kind: 'edit', replace: false, group: 'hall' })])
    bench.work({ sweep: at(49_000) })
    expect(bench.ask({ kind: 'alerts', query: firing }).total).toBe(0)
    bench.work({ sweep: at(50_001) })
    expect(bench.ask({ kind: 'alerts', query: firing }).total).toBe(1)
  })
})
