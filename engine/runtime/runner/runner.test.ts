import { describe, expect, test } from 'vitest'
import { Micros } from '../../../schemas/ids.ts'
import { MemoryLog } from '../../adapters/log/testing/memory.ts'
import { decodeNotice } from '../../domain/alert/notice.ts'
import { createRule } from '../../domain/alert/rule.ts'
import { partitionOf } from '../../domain/partition.ts'
import { LIMITS } from '../../limits.ts'
import type { Fault } from '../../ports/fault.ts'
import { NO_WANTS } from '../feed.ts'
import {
  bundle,
  idOf,
  opened,
  registration,
  request,
  START,
  type TestItem,
  telemetry,
} from '../shard/testing/items.ts'
import { HEARTBEAT_MS, RunnerBench } from './testing/runner.ts'

const A = partitionOf(idOf('a'))

/** A runner with one device that is online. */
async function setUp(): Promise<RunnerBench> {
  const bench = new RunnerBench()
  // A device may connect only after it is registered.
  for (const item of [registration('a', 0), opened('a', 1)]) {
    await bench.append(item)
    await bench.time.advance(500)
  }
  bench.performed.length = 0
  return bench
}

describe('a sweep that does not finish in one task', () => {
  /** A sweep at this time finds two silent devices. */
  const SILENT_MS = 1_000 + HEARTBEAT_MS
  async function setUpTwo(): Promise<RunnerBench> {
    const bench = await setUp()
    await bench.append(registration('b', 2))
    for (const id of ['a', 'b']) await bench.append(telemetry(id, 1_000, { x: 1 }))
    await bench.time.advance(SILENT_MS - 1_000 - LIMITS.sweepEveryMs)
    bench.performed.length = 0
    bench.tasks.length = 0
    return bench
  }
  const sweeps = ({ tasks }: RunnerBench) => tasks.flatMap(({ sweep }) => sweep ?? [])

  test('goes on at once, without waiting for the time of the next sweep', async () => {
    const bench = await setUpTwo()
    await bench.time.advance(LIMITS.sweepEveryMs)
    expect(bench.announced()).toEqual(['device.status a', 'device.status b'])
    expect(sweeps(bench)).toEqual([START + SILENT_MS, 'rest'])
  })

  test('ends with its shard, and the devices it did not visit are due again', async () => {
    const bench = await setUpTwo()
    bench.fates.push('dies after')
    await bench.time.advance(LIMITS.sweepEveryMs)
    expect([bench.announced(), bench.losses]).toEqual([[], 1])
    await bench.time.advance(HEARTBEAT_MS + 5_000)
    expect(bench.announced()).toEqual(['device.status a', 'device.status b'])
  })
})

test('after a pause of the process, messages sent meanwhile count before anything that is due', async () => {
  const bench = await setUp()
  const condition = { kind: 'threshold', metric: 'x', op: '>', value: 10 } as const
  const wish = { name: 'hot', target: { type: 'all' }, condition, for_sec: 10 } as const
  const made = createRule(wish, { id: 'rul_1', by: 'usr_ann', now: START })
  if (made.kind === 'rule') bench.runner.rule({ revision: 1, rules: [made.rule], silences: [] })
  await bench.append(registration('b', 2))
  for (const id of ['a', 'b']) await bench.append(telemetry(id, 1_000, { x: 11 }))
  await bench.time.advance(1_000)
  bench.time.jump(60_000)
  // The first timers run before any socket is read.
  await bench.time.advance(LIMITS.sweepEveryMs)
  await bench.append(telemetry('a', 62_200, { x: 5 }))
  await bench.time.advance(2_000)
  const notices = bench.performed.flatMap((proposal) => proposal.notices)
  expect(notices.map(({ bytes }) => decodeNotice(bytes).device?.id)).toEqual(['b'])
})

test('rules that are set while the shard is being loaded reach it', async () => {
  const bench = new RunnerBench()
  // The first task is in flight already and has no rules.
  const settings = { revision: 1, rules: [], silences: [] }
  bench.runner.rule(settings)
  await bench.time.advance(1_000)
  expect(bench.tasks.map(({ alertSettings }) => alertSettings)).toContain(settings)
})

describe('a question', () => {
  test('sees every message acknowledged before it', async () => {
    const bench = await setUp()
    for (let n = 1; n <= 200; n++) {
      await bench.append(telemetry('a', n, { n }))
      const answer = bench.snapshot('a')
      await bench.time.advance(0)
      expect(await answer).toMatchObject({ n })
    }
  })

  test('is answered while a proposal is being saved, without the changes of that proposal', async () => {
    const bench = await setUp()
    bench.store.fails = true
    await bench.append(request('a', 2, { kind: 'edit', replace: false, name: 'B' }))
    await bench.time.advance(100)
    const view = bench.runner.ask({ kind: 'views', deviceIds: [idOf('a')] }, [])
    await bench.time.advance(100)
    expect(await view).toMatchObject([{ device: { name: 'a' } }])
  })

  test('waits after the loss of a shard until its snapshots are read again', async () => {
    const bench = await setUp()
    await bench.append(telemetry('a', 2, { n: 1 }))
    await bench.time.advance(10)
    bench.fates.push('dies before')
    const answer = bench.snapshot('a')
    await bench.time.advance(2_000)
    expect([await answer, bench.losses]).toEqual([{ n: 1 }, 1])
  })

  test('is refused when the device is too far behind its log', async () => {
    const bench = await setUp()
    bench.store.fails = true
    await bench.append(request('a', 2, { kind: 'edit', replace: false, name: 'B' }))
    const answer = bench.snapshot('a').catch((fault: Fault) => fault.code)
    await bench.time.advance(6_000)
    expect(await answer).toBe('OVERLOADED')
  })
})

describe('a proposal', () => {
  test('is announced once it is saved, and only then (R4)', async () => {
    const bench = await setUp()
    bench.store.fails = true
    await bench.append(request('a', 2, { kind: 'edit', replace: false, name: 'B' }))
    await bench.time.advance(3_000)
    expect([bench.announced(), bench.store.devices.get(idOf('a'))?.name]).toEqual([[], 'a'])
    bench.store.fails = false
    await bench.time.advance(500)
    expect([bench.announced(), bench.store.devices.get(idOf('a'))?.name]).toEqual([['device.updated a'], 'B'])
  })

  test('whose shard died after deciding it is decided again, and told once', async () => {
    for (const fate of ['dies before', 'dies after'] as const) {
      const bench = await setUp()
      bench.fates.push(fate)
      await bench.append(request('a', 2, { kind: 'edit', replace: false, name: 'B' }))
      await bench.time.advance(2_000)
      expect([bench.announced(), bench.store.devices.get(idOf('a'))?.revision, bench.losses]).toEqual([
        ['device.updated a'],
        3,
        1,
      ])
    }
  })

  test('that is being saved when its shard is lost is waited for and not decided twice', async () => {
    const bench = await setUp()
    bench.store.fails = true
    await bench.append(request('a', 2, { kind: 'edit', replace: false, name: 'B' }))
    await bench.time.advance(300)
    bench.fates.push('dies before')
    void bench.runner.ask({ kind: 'views', deviceIds: [] }, []).catch(() => {})
    await bench.time.advance(1_000)
    bench.store.fails = false
    await bench.time.advance(3_000)
    expect([bench.announced(), bench.store.saves.length]).toEqual([['device.updated a'], 3])
  })

  test('that changed nothing is not told again by the next incarnation', async () => {
    const bench = await setUp()
    bench.runner.want({ ...NO_WANTS, telemetry: { all: true, devices: new Set() } })
    await bench.append(telemetry('a', 2, { n: 1 }))
    await bench.time.advance(10)
    bench.fates.push('dies before')
    await bench.time.advance(3_000)
    expect([bench.announced(), bench.losses]).toEqual([['telemetry a'], 1])
  })

  test('is saved with the positions of everything it depends on', async () => {
    const bench = await setUp()
    bench.telemetry.isAway = true
    await bench.append(telemetry('a', 2, { n: 1 }))
    await bench.time.advance(HEARTBEAT_MS + 2_000)
    // The silence is no entry of the log, but it was decided after the message.
    expect(bench.store.devices.get(idOf('a'))?.status).toBe('offline')
    expect(bench.store.applied()[A]).toBe(bench.log.ends()[A])
  })
})

describe('a shard', () => {
  test('that hangs is replaced', async () => {
    const bench = await setUp()
    bench.fates.push('hangs')
    await bench.append(telemetry('a', 2, { n: 1 }))
    await bench.time.advance(LIMITS.taskTimeoutMs + 3_000)
    const answer = bench.snapshot('a')
    await bench.time.advance(100)
    expect([await answer, bench.losses]).toEqual([{ n: 1 }, 1])
  })

  test('that dies at a message does so at most five times, and the other messages go on (R10)', async () => {
    const bench = await setUp()
    bench.deadly.add('deadly')
    await bench.append(telemetry('a', 2, { n: 1 }), registration('b', 2))
    await bench.append(telemetry('a', 3, { n: 'deadly' }))
    await bench.append(telemetry('a', 4, { n: 2 }), telemetry('b', 4, { n: 3 }))
    await bench.time.advance(20_000)
    const answers = Promise.all([bench.snapshot('a'), bench.snapshot('b')])
    await bench.time.advance(100)
    expect(await answers).toEqual([{ n: 2 }, { n: 3 }])
    const { letters } = await bench.store.deadLetters({ offset: 0, limit: 10 })
    expect(letters.map(({ reason }) => reason)).toEqual(['SHARD_CRASH'])
    // Listeners, the audit and the device hear of it as of any other dead letter.
    expect(bench.performed.flatMap(({ deadLetters }) => deadLetters)).toEqual(letters)
    expect(bench.losses).toBe(LIMITS.attemptsMax)
  })

  test('ends the process if its store is dead', async () => {
    const bench = await setUp()
    bench.store.isDead = true
    await bench.append(request('a', 2, { kind: 'edit', replace: false, name: 'B' }))
    await bench.time.advance(1_000)
    expect(bench.fatal).toMatchObject([{ code: 'STORE_UNAVAILABLE', retryable: false }])
    // Nothing follows from the proposal that was not saved.
    bench.runner.want({ ...NO_WANTS, telemetry: { all: true, devices: new Set() } })
    await bench.append(telemetry('a', 3, { n: 1 }))
    await bench.time.advance(1_000)
    expect([bench.announced(), bench.fatal.length]).toEqual([[], 1])
  })

  test('takes no device for silent before it has read what the device sent', async () => {
    const bench = await setUp()
    bench.store.fails = true
    await bench.append(request('a', 2, { kind: 'edit', replace: false, name: 'B' }))
    // The heartbeats are in the log while the shard waits for its store.
    for (let ms = 10_000; ms <= 100_000; ms += 10_000) {
      await bench.time.advance(10_000)
      await bench.append(telemetry('a', ms, { n: ms }))
    }
    bench.store.fails = false
    await bench.time.advance(5_000)
    expect(bench.announced()).toEqual(['device.updated a'])
  })
})

describe('a flush', () => {
  const isDone = (flush: Promise<void>) => {
    const state = { done: false }
    void flush.then(() => {
      state.done = true
    })
    return state
  }

  test('resolves once all rows of what is applied are stored, so that a restart begins after them', async () => {
    const bench = await setUp()
    await bench.append(telemetry('a', 2, { n: 1 }))
    await bench.time.advance(10)
    bench.telemetry.isAway = true
    const flush = isDone(bench.runner.flush())
    await bench.time.advance(10_000)
    expect([flush.done, await bench.telemetry.countPoints()]).toEqual([false, 0])
    bench.telemetry.isAway = false
    await bench.time.advance(6_000)
    expect([flush.done, await bench.telemetry.countPoints()]).toEqual([true, 1])
    expect(bench.store.inserted()[A]).toBe(bench.log.ends()[A])
  })

  test('waits for rows that must still be read again', async () => {
    const bench = await setUp()
    bench.telemetry.isAway = true
    let n = 0
    // First until there is no room for blocks, and then some more, which are applied without their rows.
    for (; n < 40; n++) {
      await bench.append(telemetry('a', n + 2, { n }))
      await bench.time.advance(500)
    }
    const flush = isDone(bench.runner.flush())
    bench.telemetry.isAway = false
    for (let i = 0; i < 100 && !flush.done; i++) await bench.time.advance(100)
    expect([flush.done, await bench.telemetry.countPoints()]).toEqual([true, n])
  })

  test('is answered even if the shard is lost meanwhile', async () => {
    const bench = await setUp()
    await bench.append(telemetry('a', 2, { n: 1 }))
    await bench.time.advance(10)
    bench.fates.push('dies after')
    const flush = isDone(bench.runner.flush())
    await bench.time.advance(3_000)
    expect([flush.done, bench.losses, await bench.telemetry.countPoints()]).toEqual([true, 1, 1])
  })

  test('resolves at once if there is nothing to do, and writes nothing', async () => {
    const bench = await setUp()
    const first = isDone(bench.runner.flush())
    await bench.time.advance(500)
    const before = bench.store.inserted()
    const again = isDone(bench.runner.flush())
    await bench.time.advance(0)
    expect([first.done, again.done, bench.store.inserted()]).toEqual([true, true, before])
  })
})

describe('closing', () => {
  const close = async (bench: RunnerBench, ms: number) => {
    bench.stopSweeping()
    let isClosed = false
    void bench.runner.close(6_000).then(() => {
      isClosed = true
    })
    await bench.time.advance(ms)
    return isClosed
  }

  test('first works through the log and stores its rows', async () => {
    const bench = await setUp()
    for (let n = 1; n <= 50; n++) await bench.append(telemetry('a', n, { n }))
    expect(await close(bench, 200)).toBe(true)
    expect([await bench.telemetry.countPoints(), bench.store.inserted()[A]]).toEqual([
      50,
      bench.log.ends()[A],
    ])
    await expect(bench.snapshot('a')).rejects.toThrow('shutting down')
  })

  test('does not wait longer for ClickHouse than it may', async () => {
    const bench = await setUp()
    bench.telemetry.isAway = true
    await bench.append(telemetry('a', 2, { n: 1 }))
    await bench.time.advance(10)
    expect(await close(bench, 8_000)).toBe(true)
    expect(bench.store.inserted()[A]).toBeLessThan(bench.log.ends()[A] ?? 0)
  })

  test('performs nothing of a proposal that could not be saved', async () => {
    const bench = await setUp()
    bench.store.fails = true
    await bench.append(request('a', 2, { kind: 'edit', replace: false, name: 'B' }))
    expect(await close(bench, 8_000)).toBe(true)
    expect(bench.announced()).toEqual([])
  })

  test('ends a thread that hangs', async () => {
    const bench = await setUp()
    bench.fates.push('hangs')
    await bench.append(telemetry('a', 2, { n: 1 }))
    await bench.time.advance(10)
    expect(await close(bench, 8_000)).toBe(true)
  })
})

test('a store that has lost everything is rebuilt from what the log still has', async () => {
  const log = new MemoryLog({ retentionMs: 0 })
  const append = async (...items: readonly TestItem[]) => {
    for (const item of items)
      await log.append([{ partition: A, body: bundle([item]) }], Micros((START + item.at) * 1000))
  }
  await append(registration('a', 0), telemetry('a', 1, { n: 0 }))
  await log.trim(log.ends())
  const b = Array.from({ length: 1_000 }, (_, i) => `b${i}`).find((id) => partitionOf(idOf(id)) === A) ?? ''
  const edit = request(b, 3, { kind: 'edit', replace: false, name: 'New' })
  await append(registration(b, 2), opened(b, 3), edit, telemetry(b, 4, { n: 1 }), telemetry('a', 5, { n: 2 }))
  const bench = new RunnerBench(log)
  await bench.time.advance(10_000)
  expect(bench.store.devices.get(idOf(b))).toMatchObject({ name: 'New', status: 'online' })
  expect([bench.store.devices.get(idOf('a')), bench.losses, bench.fatal]).toEqual([undefined, 0, []])
  expect(await bench.telemetry.countPoints()).toBe(1)
  const snapshot = bench.snapshot(b)
  await bench.time.advance(100)
  expect(await snapshot).toEqual({ n: 1 })
  const { letters } = await bench.store.deadLetters({ offset: 0, limit: 10 })
  // They belong to the device whose registration is no longer in the log. Trimming has left its last message.
  const parked = letters.map(({ deviceId, reason }) => `${reason} ${deviceId}`)
  expect(parked).toEqual(['UNKNOWN_DEVICE a', 'UNKNOWN_DEVICE a'])
  expect(bench.store.inserted()[A]).toBe(log.ends()[A])
})

test('the backlog is the number of entries in the log that are not applied', async () => {
  const bench = await setUp()
  bench.store.fails = true
  for (let n = 0; n < 3; n++)
    await bench.append(request('a', n, { kind: 'edit', replace: false, name: `${n}` }))
  expect(bench.runner.backlog()).toBe(3)
  bench.store.fails = false
  await bench.time.advance(500)
  expect(bench.runner.backlog()).toBe(0)
  expect(bench.log.latestAt()).toBeGreaterThan(Micros(0))
})
