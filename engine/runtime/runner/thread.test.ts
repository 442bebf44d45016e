import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { afterEach, expect, test } from 'vitest'
import { Micros, Partition } from '../../../schemas/ids.ts'
import { newProgress, suspectOf } from '../shard/progress.ts'
import { bundle, deviceOf, START, telemetry } from '../shard/testing/items.ts'
import { NOTHING } from '../shard/testing/shard.ts'
import { piscinaThread, type ShardThread } from './thread.ts'

const P = Partition(0)
const threads: ShardThread[] = []
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.close()
})

function open() {
  const progress = newProgress()
  const settings = {
    partitions: [P],
    heartbeatTimeoutMs: 60_000,
    bootAt: Micros(1),
    incarnation: 'l',
    progress,
  }
  const thread = piscinaThread(settings)
  threads.push(thread)
  return { thread, progress }
}

const load = {
  kind: 'load',
  devices: [{ device: deviceOf('a'), vitals: undefined, parts: {}, commands: [] }],
  applied: [],
  now: START,
} as const
const work = { ...NOTHING, settle: false }

test('a shard works in its thread as it does without a thread', async () => {
  const { thread, progress } = open()
  await thread.run(load)
  const entries = [{ partition: P, seq: 1, body: bundle([telemetry('a', 1, { x: 1 })]) }]
  const result = await thread.run({ ...work, entries })
  expect(result?.proposal.changed.map(({ id, status }) => [id, status])).toEqual([['a', 'online']])
  expect(suspectOf(progress)).toBeUndefined()
})

test('a thread that is ended says which message it was working on, and does nothing more', async () => {
  const { thread, progress } = open()
  await thread.run(load)
  const body = bundle(Array.from({ length: 5_000 }, (_, i) => telemetry('a', i, { x: i })))
  const entries = Array.from({ length: 200 }, (_, i) => ({ partition: P, seq: i + 1, body }))
  const lost = thread.run({ ...work, entries }).then(
    () => 'done',
    (fault: { code: string }) => fault.code,
  )
  await expect.poll(() => suspectOf(progress)?.index ?? 0, { interval: 1 }).toBeGreaterThan(100)
  await thread.close()
  expect(await lost).toBe('SHARD_LOST')
  expect(suspectOf(progress)).toMatchObject({ partition: P })
})

test('a thread that was replaced by an empty one counts as lost', async () => {
  const { thread } = open()
  await expect(thread.run(work)).rejects.toMatchObject({ code: 'SHARD_LOST' })
})

test.runIf(process.platform === 'linux')(
  'a shard gives way to the thread that acknowledges messages',
  async () => {
    const before = niceValues()
    await open().thread.run(load)
    const gaveWay = (values: readonly number[]) => values.filter((nice) => nice > getPriority()).length
    expect(gaveWay(niceValues())).toBe(gaveWay(before) + 1)
  },
)

/** The nice values of the process's threads, from proc(5). */
function niceValues(): readonly number[] {
  return readdirSync('/proc/self/task').map((thread) => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })
}
