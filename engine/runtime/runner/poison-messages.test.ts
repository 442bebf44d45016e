import { expect, test } from 'vitest'
import { Partition } from '../../../schemas/ids.ts'
import { ITEM, readItems } from '../../domain/bundle.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Entry } from '../../ports/log.ts'
import type { DeadLetter } from '../../ports/store.ts'
import { bundle, telemetry } from '../shard/testing/items.ts'
import { PoisonMessages } from './poison-messages.ts'

const P = Partition(3)
const entry = (seq: number): Entry => ({
  partition: P,
  seq,
  body: bundle([0, 1, 2].map((i) => telemetry('a', seq * 10 + i, { seq, i }))),
})
const entries = [entry(1), entry(2)]
const suspect = { partition: P, seq: 2, index: 1 }
const kindsOf = (list: readonly Entry[]) =>
  list.map(({ body }) => [...readItems(body)].map(({ kind }) => kind))
const { message, parked } = ITEM

function setUp(known: readonly DeadLetter[] = []) {
  const letters: DeadLetter[] = []
  const store = { deadLetters: async () => ({ letters: known, total: known.length }) }
  return {
    letters,
    poison: new PoisonMessages(store, async ({ deadLetters }) => void letters.push(...deadLetters)),
  }
}

test('a message at which its shard dies repeatedly is parked, and the others of its bundle go on', async () => {
  const { letters, poison } = setUp()
  for (let deaths = 1; deaths < LIMITS.attemptsMax; deaths++) {
    await poison.shardDied(entries, suspect)
    // Batches that pass in between do not reset the count of the message.
    poison.entriesPassed()
  }
  expect([letters, poison.withoutParked(entries)]).toEqual([[], entries])
  await poison.shardDied(entries, suspect)
  expect(letters.map(({ id, reason, deviceId }) => [id, reason, deviceId])).toEqual([
    ['dl_3_2_1', 'SHARD_CRASH', 'a'],
  ])
  expect(kindsOf(poison.withoutParked(entries))).toEqual([
    [message, message, message],
    [message, parked, message],
  ])
})

test('only the poison is left out of a bundle, and the log keeps it', async () => {
  const { poison } = setUp()
  for (let deaths = 0; deaths < LIMITS.attemptsMax; deaths++) await poison.shardDied(entries, suspect)
  const [, disarmed] = poison.withoutParked(entries)
  const rest = (list: readonly Entry[]) =>
    list.flatMap(({ body }) => [...readItems(body)].map(({ payload }) => payload))
  expect(disarmed?.body.length).toBe(entries[1]?.body.length)
  expect(rest(disarmed === undefined ? [] : [disarmed])).toEqual(rest(entries.slice(1)))
  expect(kindsOf(entries)[1]).toEqual([message, message, message])
})

test('deaths at different messages, or at none, park nothing', async () => {
  const { letters, poison } = setUp()
  for (let deaths = 0; deaths < 50; deaths++) {
    await poison.shardDied(entries, undefined)
    await poison.shardDied([entry(deaths)], { ...suspect, seq: deaths })
  }
  expect([letters, poison.deaths]).toEqual([[], 100])
  poison.entriesPassed()
  expect(poison.deaths).toBe(0)
})

test('a message that an earlier incarnation parked kills only once more', async () => {
  const first = setUp()
  for (let deaths = 0; deaths < LIMITS.attemptsMax; deaths++) await first.poison.shardDied(entries, suspect)
  const second = setUp(first.letters)
  await second.poison.shardDied(entries, suspect)
  expect(kindsOf(second.poison.withoutParked(entries))[1]).toEqual([message, parked, message])
  expect(second.letters).toEqual([])
})

test('while the store does not answer, a parked message is tried again and parked again after as many deaths', async () => {
  const letters: DeadLetter[] = []
  const away = new Fault('STORE_UNAVAILABLE', { retryable: true })
  const poison = new PoisonMessages({ deadLetters: () => Promise.reject(away) }, async ({ deadLetters }) => {
    letters.push(...deadLetters)
  })
  for (let deaths = 1; deaths < LIMITS.attemptsMax; deaths++) await poison.shardDied(entries, suspect)
  expect([letters, poison.withoutParked(entries)]).toEqual([[], entries])
  await poison.shardDied(entries, suspect)
  expect(letters.map(({ id }) => id)).toEqual(['dl_3_2_1'])
})
