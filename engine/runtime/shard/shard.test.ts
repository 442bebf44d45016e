import { describe, expect, test } from 'vitest'
import { Micros } from '../../../schemas/ids.ts'
import { readHistoryBlock } from '../../domain/history/testing/read-block.ts'
import { partitionOf } from '../../domain/partition.ts'
import { NO_WANTS } from '../feed.ts'
import { newProgress } from './progress.ts'
import type { WorkResult } from './protocol.ts'
import { Shard } from './shard.ts'
import {
  bundle,
  closed,
  deviceOf,
  idOf,
  opened,
  registration,
  request,
  START,
  status,
  type TestItem,
  telemetry,
  will,
} from './testing/items.ts'
import { at, NOTHING, online, P, ShardBench, statuses, valuesOf } from './testing/shard.ts'

describe('a proposal', () => {
  test('is not visible before it is settled', () => {
    const bench = new ShardBench()
    bench.apply([registration('a', 0)])
    const views = bench.ask({ kind: 'views', deviceIds: [idOf('a')] }, { settle: false })
    expect(views).toEqual([undefined])
    expect(bench.view('a')?.device.name).toBe('a')
  })

  test('a registration takes effect for the messages that follow it in the batch', () => {
    const bench = new ShardBench()
    const { proposal } = bench.apply([registration('b', 1), opened('b', 2), telemetry('b', 3, { x: 2 })])
    expect([proposal.deadLetters, proposal.changed.map(({ id, status }) => `${id} ${status}`)]).toEqual([
      [],
      ['b online'],
    ])
    expect(bench.ask({ kind: 'views', deviceIds: [idOf('b')] }, { settle: false })).toEqual([undefined])
    expect(valuesOf(bench.work({ cut: 'all' }).blocks)).toEqual([2])
    expect(bench.view('b')).toMatchObject({ connected: true, device: { status: 'online' } })
  })

  test('holds its rows back until it is settled, and `covered` says so', () => {
    const bench = new ShardBench([online])
    const proposed = bench.apply([telemetry('a', 1, { x: 1 })])
    expect([proposed.blocks.length, proposed.covered[P], proposed.isAllOut]).toEqual([0, 0, true])
    const open = bench.work({ settle: false, cut: 'all' })
    expect([open.blocks.length, open.covered[P], open.isAllOut]).toEqual([0, 0, false])
    const settled = bench.work({ cut: 'all' })
    expect([valuesOf(settled.blocks), settled.covered[P], settled.isAllOut]).toEqual([[1], 1, true])
  })

  test('without a change has applied positions and nothing to save (R7)', () => {
    const bench = new ShardBench([online])
    const { proposal } = bench.apply([telemetry('a', 1, { x: 1 }), telemetry('a', 2, { x: 2 })])
    expect(proposal.applied).toEqual([{ partition: P, seq: 1 }])
    expect([proposal.changed, proposal.deadLetters, proposal.late]).toEqual([[], [], []])
  })
})

describe('an entry that was applied before', () => {
  const items = [registration('b', 1), telemetry('a', 2, { x: 1 }), telemetry('a', 3, '{')]

  test('makes its rows and its snapshot again, but no record, reply, event or dead letter', () => {
    const bench = new ShardBench([online], { applied: 1 })
    const all = { all: true, devices: new Set<never>() }
    const wants = { telemetry: all, timeline: all, log: all }
    const { proposal } = bench.apply(items, { wants })
    expect(proposal).toMatchObject({
      applied: [],
      changed: [],
      replies: [],
      feed: [],
      deadLetters: [],
      late: [],
    })
    expect([valuesOf(bench.rows()), bench.snapshot('a')]).toEqual([[1], { x: 1 }])
  })

  test('makes the same points once more when its rows are read later', () => {
    const bench = new ShardBench([online])
    const entry = bench.entry(1, [telemetry('a', 2, { x: 1 })])
    bench.work({ entries: [entry], rows: false })
    const before = bench.work({ cut: 'all' })
    expect([before.blocks, before.covered[P]]).toEqual([[], 0])
    bench.work({ entries: [entry] })
    const after = bench.work({ cut: 'all' })
    expect([valuesOf(after.blocks), after.covered[P]]).toEqual([[1], 1])
  })

  test('does not take vitals back when its rows are read later', () => {
    const bench = new ShardBench([online])
    const first = bench.entry(1, [opened('a', 1), status('a', 2, { status: 'online', session_id: 'A' })])
    bench.work({ entries: [first], rows: false })
    const second = [closed('a', 3, 1), opened('a', 4), status('a', 5, { status: 'online', session_id: 'B' })]
    bench.work({ entries: [bench.entry(2, second)], rows: false })
    const before = bench.view('a')
    bench.work({ entries: [first] })
    expect(bench.view('a')).toEqual(before)
    // So the will of the latest session still counts.
    const gone = bench.work({
      entries: [bench.entry(3, [will('a', 6, { status: 'offline', session_id: 'B' })])],
    })
    expect(statuses(gone)).toEqual(['a offline'])
  })

  test('never lowers the position that rows have reached', () => {
    const bench = new ShardBench([online])
    const entries = [1, 2].map((seq) => bench.entry(seq, [telemetry('a', seq, { x: seq })]))
    bench.work({ entries })
    bench.work({ entries: entries.slice(0, 1) })
    expect(bench.work().covered[P]).toBe(2)
  })
})

describe('a device that was registered by a node whose clock is ahead', () => {
  const early = telemetry('a', 500, { x: 1 })
  const registered = registration('a', 1_000)
  const replayOf = (items: readonly TestItem[]) => {
    const first = new ShardBench()
    first.apply(items)
    const device = first.view('a')?.device
    const replay = new ShardBench(device === undefined ? [] : [device], { applied: 1 })
    replay.apply(items)
    return [valuesOf(first.rows()), valuesOf(replay.rows())]
  }

  test('keeps its first messages in a replay, although they have earlier times than its registration', () => {
    expect(replayOf([registered, early])).toEqual([[1], [1]])
  })

  test('does not get messages of an earlier device with its id', () => {
    expect(replayOf([early, registered])).toEqual([[], []])
  })
})

describe('telemetry', () => {
  test('older than the horizon marks its hour late, and the mark is saved', () => {
    const bench = new ShardBench([online])
    const stamped = (ms: number) => telemetry('a', 0, { timestamp: new Date(at(ms)).toISOString(), x: 1 })
    const { proposal } = bench.apply([stamped(-3_600_001), stamped(-1), stamped(0)], { horizon: at(0) })
    expect(proposal.late.map(({ hour }) => hour * 1000 - START)).toEqual([-7_200_000, -3_600_000])
  })

  test('received after its device was decommissioned is ignored by its time, in a replay as well', () => {
    const items = [
      telemetry('a', 1, { x: 1 }),
      request('a', 2, { kind: 'decommission' }),
      telemetry('a', 3, { x: 2 }),
    ]
    const bench = new ShardBench([online])
    const first = bench.apply(items)
    expect([first.proposal.cuts, valuesOf(bench.rows())]).toEqual([['a'], [1]])
    const gone = bench.view('a')?.device
    const replay = new ShardBench(gone === undefined ? [] : [gone], { applied: 1 })
    replay.apply(items)
    expect(valuesOf(replay.rows())).toEqual([1])
  })

  test('on a topic that only looks similar is not stored', () => {
    const bench = new ShardBench([online])
    bench.apply([{ ...telemetry('a', 1, { x: 1 }), suffix: 'thermally' }])
    expect(bench.rows()).toEqual([])
  })

  test('is told only to those who want it', () => {
    const bench = new ShardBench([online, deviceOf('b', { status: 'online' })])
    const wants = { ...NO_WANTS, telemetry: { all: false, devices: new Set([idOf('b')]) } }
    const { proposal } = bench.apply([telemetry('a', 1, { x: 1 }), telemetry('b', 2, { x: 2 })], { wants })
    expect(proposal.feed).toEqual([{ kind: 'telemetry', deviceId: 'b', at: at(2), data: { x: 2 }, seq: 1 }])
  })

  test('is told with its place in the log, and a snapshot says up to which place it reaches', () => {
    const bench = new ShardBench([online])
    const partition = partitionOf(idOf('a'))
    const entry = (seq: number, x: number) => ({
      ...bench.entry(seq, [telemetry('a', seq, { x })]),
      partition,
    })
    const reach = () => bench.ask({ kind: 'snapshot', deviceId: idOf('a') }, { settle: false })
    const wants = { ...NO_WANTS, telemetry: { all: true, devices: new Set<never>() } }
    bench.work({ entries: [entry(4, 1)] })
    expect(reach()).toMatchObject({ data: { x: 1 }, seq: 4 })
    // The snapshot has values of a proposal that is not settled yet.
    const { proposal } = bench.work({ entries: [entry(6, 2)], wants })
    expect(proposal.feed).toMatchObject([{ kind: 'telemetry', seq: 6 }])
    expect(reach()).toMatchObject({ data: { x: 2 }, seq: 6 })
  })
})

describe('the feed', () => {
  const log = (id: string, ms: number, lines: readonly object[]) => ({
    ...telemetry(id, ms, lines),
    suffix: 'log',
  })
  const lines = [{ message: 'one' }, { message: 'two', level: 'error' }]
  const told = ({ proposal }: WorkResult, kind: 'log' | 'timeline') =>
    proposal.feed.flatMap((event) => (event.kind === kind ? [event.row] : []))

  test('has log lines only while somebody wants them, in the form of the history', () => {
    const bench = new ShardBench([online, deviceOf('b', { status: 'online' })])
    expect(told(bench.apply([log('a', 1, lines)]), 'log')).toEqual([])
    bench.rows()
    const wants = { ...NO_WANTS, log: { all: false, devices: new Set([idOf('a')]) } }
    const rows = told(bench.apply([log('a', 2, lines), log('b', 3, lines)], { wants }), 'log')
    expect(rows.map(({ at: us, body }) => [us, JSON.parse(body)])).toEqual([
      [at(2) * 1000, { level: 'info', message: 'one' }],
      [at(2) * 1000 + 1, { level: 'error', message: 'two' }],
    ])
    const [block] = bench.rows()
    expect(block && readHistoryBlock(block.bytes).slice(0, 2)).toEqual(rows)
  })

  test('has the rows of the timeline as they are saved, for the devices that are wanted', () => {
    const wants = { ...NO_WANTS, timeline: { all: false, devices: new Set([idOf('a')]) } }
    const result = new ShardBench().apply([registration('a', 1), registration('b', 2)], { wants })
    expect(told(result, 'timeline')).toEqual(
      result.proposal.history.filter(({ deviceId }) => deviceId === 'a'),
    )
    expect(told(result, 'timeline')).toHaveLength(1)
  })
})

describe('a message that cannot be processed', () => {
  test('is parked with its place and its reason, and the other messages go on (R10)', () => {
    const bench = new ShardBench([online])
    const { proposal } = bench.apply([
      telemetry('a', 1, '{'),
      telemetry('nobody', 2, { x: 1 }),
      telemetry('a', 3, { x: 2 }),
    ])
    expect(proposal.deadLetters.map(({ id, reason, topic }) => [id, reason, topic])).toEqual([
      ['dl_0_1_0', 'not_json', 'fleet/a/telemetry'],
      ['dl_0_1_1', 'UNKNOWN_DEVICE', 'fleet/nobody/telemetry'],
    ])
    expect(valuesOf(bench.rows())).toEqual([2])
  })

  test('keeps no more bytes in memory than its dead letter shows', () => {
    const bench = new ShardBench([online])
    const { proposal } = bench.apply([
      telemetry('a', 1, `{${'x'.repeat(100_000)}`),
      telemetry('a', 2, { x: 1 }),
    ])
    const [letter] = proposal.deadLetters
    expect([letter?.payload.buffer.byteLength, letter?.payloadBytes]).toEqual([4_096, 100_001])
  })

  test('in a truncated bundle affects only the rest of the bundle', () => {
    const bench = new ShardBench([online])
    const body = bundle([telemetry('a', 1, { x: 1 }), telemetry('a', 2, { x: 2 })]).slice(0, -1)
    const { proposal } = bench.work({ entries: [{ partition: P, seq: 1, body }] })
    expect(proposal.deadLetters.map(({ id, reason }) => [id, reason])).toEqual([['dl_0_1_1', 'UNREADABLE']])
    expect(valuesOf(bench.rows())).toEqual([1])
  })
})

test('a shard that was not loaded refuses to work', () => {
  const settings = {
    partitions: [P],
    heartbeatTimeoutMs: 1,
    bootAt: Micros(1),
    incarnation: 'l',
    progress: newProgress(),
  }
  expect(() => new Shard(settings, () => 0).run(NOTHING)).toThrow('loaded before it works')
})

test('requests of one batch see each other, and each is answered', () => {
  const bench = new ShardBench()
  const { proposal } = bench.apply([
    registration('a', 1),
    request('a', 2, { kind: 'edit', replace: false, name: 'A', ifRevision: 1 }),
    request('a', 3, { kind: 'edit', replace: false, name: 'B', ifRevision: 1 }),
    registration('a', 4),
  ])
  expect(
    proposal.replies.map((reply) => (reply.kind === 'done' ? reply.view.device.revision : reply.code)),
  ).toEqual([1, 2, 'PRECONDITION_FAILED', 'ALREADY_EXISTS'])
  expect(proposal.changed.map(({ name, revision }) => [name, revision])).toEqual([['A', 2]])
})
