import { describe, expect, test } from 'vitest'
import type { WorkResult } from './protocol.ts'
import { deviceOf, opened, request, type TestItem, telemetry } from './testing/items.ts'
import { at, ShardBench, statuses, TIMEOUT_MS } from './testing/shard.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e']
const fleet = (names: readonly string[], dueDevicesPerTaskMax: number) =>
  new ShardBench(
    names.map((name) => deviceOf(name, { status: 'online' })),
    { dueDevicesPerTaskMax },
  )
const told = ({ proposal }: WorkResult) =>
  proposal.feed.flatMap((event) =>
    event.kind === 'device' && event.event === 'device.status'
      ? [`${event.view.device.id} ${event.view.device.status} at ${event.at - at(0)}`]
      : [],
  )

describe('a sweep with more devices due than one task may judge', () => {
  test('goes on in the next tasks until each device was judged once', () => {
    const bench = fleet(NAMES, 2)
    const sweep = at(TIMEOUT_MS)
    const tasks = [bench.work({ sweep }), bench.work({ sweep: 'rest' }), bench.work({ sweep: 'rest' })]
    expect(tasks.map((task) => [statuses(task), task.isSweepCut])).toEqual([
      [['a offline', 'b offline'], true],
      [['c offline', 'd offline'], true],
      [['e offline'], false],
    ])
    expect(statuses(bench.work({ sweep: at(TIMEOUT_MS + 250) }))).toEqual([])
  })

  test('answers questions and applies messages in between', () => {
    const bench = fleet(NAMES, 2)
    bench.work({ sweep: at(TIMEOUT_MS) })
    const between = bench.apply([telemetry('a', TIMEOUT_MS + 1, { x: 1 })])
    expect([statuses(between), between.isSweepCut]).toEqual([['a online'], true])
    expect([bench.snapshot('a'), bench.view('e')?.device.status]).toEqual([{ x: 1 }, 'online'])
    expect(statuses(bench.work({ sweep: 'rest' }))).toEqual(['c offline', 'd offline'])
  })

  test.each<[string, TestItem]>([
    ['a message', telemetry('e', TIMEOUT_MS + 10, { x: 1 })],
    ['a request', request('e', TIMEOUT_MS + 10, { kind: 'edit', replace: false, name: 'E' })],
  ])('judges a device before %s that came later, as if it had visited all devices at once', (_, item) => {
    const bench = fleet(NAMES, 2)
    bench.work({ sweep: at(TIMEOUT_MS) })
    expect(told(bench.apply([item]))[0]).toBe(`e offline at ${TIMEOUT_MS}`)
    expect(statuses(bench.work({ sweep: 'rest' }))).toEqual(['c offline', 'd offline'])
    expect(statuses(bench.work({ sweep: 'rest' }))).toEqual([])
  })

  test('leaves out a device that was heard before the sweep began', () => {
    const bench = fleet(NAMES, 2)
    bench.work({ sweep: at(TIMEOUT_MS) })
    expect(told(bench.apply([telemetry('e', TIMEOUT_MS - 1, { x: 1 })]))).toEqual([])
    const rest = [bench.work({ sweep: 'rest' }), bench.work({ sweep: 'rest' })]
    expect(rest.flatMap(statuses)).toEqual(['c offline', 'd offline'])
  })

  test('ends even if devices join and become due meanwhile', () => {
    const bench = fleet(['a', 'b'], 1)
    bench.work({ sweep: at(TIMEOUT_MS) })
    bench.shard.load([{ device: deviceOf('z'), vitals: undefined, parts: {}, commands: [] }], [], at(0))
    bench.work({ sweep: 'rest' })
    expect(bench.work({ sweep: 'rest' }).isSweepCut).toBe(false)
  })

  test('tells the end of flapping once per device, even for a device that changed meanwhile', () => {
    const bench = fleet(['a', 'b'], 1)
    const connects = (name: string) => Array.from({ length: 10 }, (_, n) => opened(name, n + 1))
    bench.apply([...connects('a'), ...connects('b')])
    const calmed = ({ proposal }: WorkResult) =>
      proposal.feed.flatMap((event) =>
        event.kind === 'device' && event.event === 'device.connectivity' && !event.view.flapping
          ? [event.view.device.id]
          : [],
      )
    // Both devices fall silent long before, so that nothing else is due.
    const early = bench.work({ sweep: at(TIMEOUT_MS + 100) })
    while (early.isSweepCut && bench.work({ sweep: 'rest' }).isSweepCut);
    const edit = request('b', 600_001, { kind: 'edit', replace: false, name: 'B' })
    const seen = [
      bench.work({ sweep: at(600_000) }),
      bench.apply([edit]),
      bench.work({ sweep: 'rest' }),
      bench.work({ sweep: at(600_250) }),
      bench.work({ sweep: 'rest' }),
    ]
    expect(seen.map(calmed)).toEqual([['a'], [], ['b'], [], []])
  })
})
