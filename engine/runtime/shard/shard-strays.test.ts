import { expect, test } from 'vitest'
import { toForbiddenSuffix } from '../../domain/dead-letter/stray-topic.ts'
import { LIMITS } from '../../limits.ts'
import type { WorkResult } from './protocol.ts'
import { type TestItem, telemetry } from './testing/items.ts'
import { online, ShardBench } from './testing/shard.ts'

const message = (at: number, suffix: string, body: object | string = {}): TestItem => ({
  ...telemetry('a', at, body),
  suffix,
})
const letters = ({ proposal }: WorkResult) =>
  proposal.deadLetters.map(({ topic, reason, detail }) => [topic, reason, detail])

test('a message on an unknown topic is parked, with the topic that was probably meant', () => {
  const bench = new ShardBench([online])
  expect(letters(bench.apply([message(1, 'telemtry'), message(2, 'a/b/c')]))).toEqual([
    ['fleet/a/telemtry', 'UNKNOWN_TOPIC', 'nothing takes messages on telemtry; did you mean telemetry?'],
    ['fleet/a/a/b/c', 'UNKNOWN_TOPIC', 'nothing takes messages on a/b/c'],
  ])
})

test('a message on a topic of the service or of another device is parked with the topic that was used', () => {
  const bench = new ShardBench([online])
  const strays = [message(1, 'command'), message(2, toForbiddenSuffix('fleet/b/telemetry'))]
  expect(letters(bench.apply(strays))).toEqual([
    ['fleet/a/command', 'FORBIDDEN_TOPIC', 'only the service publishes on command'],
    ['fleet/b/telemetry', 'FORBIDDEN_TOPIC', 'the device may not publish on fleet/b/telemetry'],
  ])
})

test('a report that cannot be read is parked and rejected', () => {
  const { proposal } = new ShardBench([online]).apply([message(1, 'shadow/reported', '[1]')])
  expect(proposal.deadLetters.map(({ reason }) => reason)).toEqual(['MALFORMED_REPORT'])
  expect(proposal.outbound.map((each) => each.message.suffix)).toEqual(['shadow/reported/rejected'])
})

test('a flood of bad messages makes a limited number of dead letters per second', () => {
  const bench = new ShardBench([online])
  const flood = Array.from({ length: 500 }, () => message(1, 'nowhere'))
  const first = bench.apply(flood)
  expect(first.proposal.deadLetters).toHaveLength(LIMITS.deadLettersPerDevicePerSecMax)
  expect(first.counts.refused).toBe(500)
  expect(bench.apply([message(2, 'nowhere')]).proposal.deadLetters).toEqual([])
  expect(bench.apply([message(1_001, 'nowhere')]).proposal.deadLetters).toHaveLength(1)
})
