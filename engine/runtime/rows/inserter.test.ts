import { expect, test } from 'vitest'
import { Micros } from '../../../schemas/ids.ts'
import { MemoryTelemetry } from '../../adapters/telemetry/testing/memory.ts'
import { DeviceIdOf, pointsBlock } from '../../adapters/telemetry/testing/telemetry.ts'
import { partitionOf } from '../../domain/partition.ts'
import { readBlock } from '../../domain/telemetry/native-reader.ts'
import { parsePayload } from '../../domain/telemetry/payload.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { DeadLetter } from '../../ports/store.ts'
import type { Block } from '../../ports/telemetry.ts'
import { SimTime } from '../../testing/time.ts'
import { START } from '../shard/testing/items.ts'
import { Inserter } from './inserter.ts'

const block = (v: number): Block =>
  pointsBlock([{ device: 'd', at: START * 1000, version: 1, values: { v } }])
const valuesIn = ({ bytes }: Pick<Block, 'bytes'>) =>
  readBlock(bytes).rows.flatMap(({ values }) => values.map(Number))
const later = new Fault('TELEMETRY_UNAVAILABLE', { retryable: true })
const never = new Fault('TELEMETRY_REFUSED', { retryable: false })

function setUp() {
  const time = new SimTime(START)
  /** Errors of the next inserts. Later inserts succeed. */
  const fates: (Fault | Error)[] = []
  const tried: number[] = []
  const told: string[] = []
  const inserter = new Inserter({
    telemetry: {
      async insert(sent) {
        tried.push(...valuesIn(sent))
        const fate = fates.shift()
        if (fate !== undefined) throw fate
      },
    },
    schedule: time.newIncarnation().schedule,
    ticks: () => time.ticks(),
    signal: ({ kind, block: about }) => told.push(`${kind} ${valuesIn(about)}`),
    park: async () => {},
  })
  return { time, fates, tried, told, inserter }
}

/** Accepts telemetry as ClickHouse does, except some values. */
class Choosy extends MemoryTelemetry {
  sent = 0
  /** Whether a block with these values is refused. */
  refuses = (_: readonly number[]) => false

  override async insert(block: Block): Promise<void> {
    this.sent++
    if (this.refuses(valuesIn(block)))
      throw new Fault('TELEMETRY_REFUSED', { retryable: false, message: 'a bad value' })
    await super.insert(block)
  }
}

function setUpChoosy() {
  const time = new SimTime(START)
  const telemetry = new Choosy()
  const told: string[] = []
  const letters: DeadLetter[] = []
  const parks = { fault: undefined as Fault | undefined }
  const inserter = new Inserter({
    telemetry,
    schedule: time.newIncarnation().schedule,
    ticks: () => time.ticks(),
    signal: ({ kind }) => told.push(kind),
    park: async (more) => {
      if (parks.fault !== undefined) throw parks.fault
      letters.push(...more)
    },
  })
  return { time, telemetry, told, letters, parks, inserter }
}

const AT = START * 1000
/** Message n is at index `n` of entry 7 in the log, and has the values n and -n. */
const messages = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    device: `d${n % 3}`,
    at: AT + n,
    version: 7 * 65_536 + n,
    values: { 'a.v': n, w: -n },
  }))

test('only the messages that ClickHouse refuses become dead letters, and all others are stored once', async () => {
  const { time, telemetry, told, letters, inserter } = setUpChoosy()
  telemetry.refuses = (values) => values.includes(13) || values.includes(400)
  const stored = inserter.insert([pointsBlock(messages(1_000))])
  await time.advance(0)
  expect(await stored).toBe(true)
  const found = await Promise.all(['d0', 'd1', 'd2'].map((id) => telemetry.countPoints(DeviceIdOf(id))))
  expect(found.reduce((sum, count) => sum + count)).toBe(2 * 998)
  expect(letters.map(({ id, reason, detail }) => [id, reason, detail])).toEqual(
    [400, 13].map((n) => {
      const id = DeviceIdOf(`d${n % 3}`)
      return [`dl_${partitionOf(id)}_7_${n}`, 'TELEMETRY_REFUSED', 'a bad value']
    }),
  )
  expect(told.filter((kind) => kind !== 'inserted')).toEqual(['messages_refused'])
  // Two inserts for each cut, and one cut for each halving of a thousand, for each of the two messages.
  expect(telemetry.sent).toBeLessThanOrEqual(1 + 2 * 2 * 10)
})

test('the dead letter of a refused message can be sent again and means the same', async () => {
  const { time, telemetry, letters, inserter } = setUpChoosy()
  telemetry.refuses = (values) => values.includes(2)
  void inserter.insert([pointsBlock(messages(5))])
  await time.advance(0)
  const [letter] = letters
  const about = { deviceId: DeviceIdOf('d2'), name: undefined, receivedAt: Micros(AT + 2), version: 1 }
  const again = parsePayload(letter?.payload ?? new Uint8Array(), about)
  if (again.kind !== 'reports') expect.fail(again.kind)
  expect(letter).toMatchObject({ topic: 'fleet/d2/telemetry', payloadBytes: letter?.payload.length })
  expect(
    again.reports.map(({ at, fields }) => [at, fields.metrics.slice(0, 2), fields.values.slice(0, 2)]),
  ).toEqual([[AT + 2, ['a.v', 'w'], [2, -2]]])
})

test('if ClickHouse accepts nothing, it is not tried for each message', async () => {
  const { time, telemetry, told, inserter } = setUpChoosy()
  telemetry.refuses = () => true
  const stored = inserter.insert([pointsBlock(messages(5_000))])
  await time.advance(0)
  expect([await stored, new Set(told)]).toEqual([true, new Set(['insert_refused', 'messages_refused'])])
  expect(telemetry.sent).toBeLessThanOrEqual(1 + 2 * LIMITS.refusedCutsInVainMax)
})

test('a block counts as stored only once its dead letters are saved', async () => {
  const { time, telemetry, told, letters, parks, inserter } = setUpChoosy()
  telemetry.refuses = (values) => values.includes(2)
  parks.fault = new Fault('STORE_UNAVAILABLE', { retryable: true })
  let isStored = false
  void inserter.insert([pointsBlock(messages(5))]).then((stored) => {
    isStored = stored
  })
  await time.advance(60_000)
  expect([isStored, letters, told.at(-1)]).toEqual([false, [], 'parking_failed'])
  parks.fault = undefined
  await time.advance(60_000)
  expect([isStored, letters.length, told.at(-1)]).toEqual([true, 1, 'messages_refused'])
})

test('blocks are inserted one by one, in order, and retried until they are stored', async () => {
  const { time, fates, tried, inserter } = setUp()
  fates.push(later, new Error('anything'))
  let isStored = false
  void inserter.insert([block(1), block(2)]).then((stored) => {
    isStored = stored
  })
  await time.advance(100)
  expect([tried, isStored, inserter.waiting]).toEqual([[1], false, 2])
  await time.advance(10_000)
  expect([tried, isStored, inserter.waiting]).toEqual([[1, 1, 1, 2], true, 0])
})

test('a block that is refused for good does not delay the others', async () => {
  const { time, fates, told, inserter } = setUp()
  fates.push(never)
  const stored = inserter.insert([block(1), block(2)])
  await time.advance(0)
  expect([await stored, told]).toEqual([true, ['messages_refused 1', 'inserted 2']])
})

test('the inserter is full at a limit of waiting blocks, and gives them up when it is closed', async () => {
  const { time, fates, inserter } = setUp()
  for (let i = 0; i < 100; i++) fates.push(later)
  const stored = inserter.insert(Array.from({ length: LIMITS.blocksWaitingMax }, (_, i) => block(i)))
  await time.advance(1)
  expect(inserter.isFull()).toBe(true)
  inserter.close()
  await time.advance(10_000)
  expect([await stored, inserter.isFull()]).toEqual([false, false])
})
