import { expect, test } from 'vitest'
import { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Fault } from '../../ports/fault.ts'
import { idOf } from '../shard/testing/items.ts'
import { PendingQuestions } from './pending-questions.ts'

const ask = { kind: 'snapshot', deviceId: idOf('a') } as const
const after = (seq: number) => [{ partition: Partition(1), seq }]
const codeOf = (answer: Promise<unknown>) => answer.catch((fault: Fault) => fault.code)

const ALL = () => true

test('a question waits until everything acknowledged before it is applied', async () => {
  const questions = new PendingQuestions({ ticks: () => 0, later: (run) => run(), ready: () => {} })
  const answer = questions.add(ask, after(5))
  expect(questions.take([0, 4], ALL)).toEqual([])
  const [waiting] = questions.take([0, 5], ALL)
  waiting?.resolve({ data: {}, timestamp: undefined, seq: 5 })
  expect(await answer).toEqual({ data: {}, timestamp: undefined, seq: 5 })
  expect(questions.take([0, 9], ALL)).toEqual([])
})

test('a task takes a limited number of questions, oldest first', () => {
  const questions = new PendingQuestions({ ticks: () => 0, later: (run) => run(), ready: () => {} })
  const count = LIMITS.asksPerBatchMax + 3
  for (let i = 0; i < count; i++) void questions.add({ ...ask, deviceId: idOf(`d${i}`) }, after(0))
  const taken = questions.take([0, 0], ALL)
  expect(taken.length).toBe(LIMITS.asksPerBatchMax)
  expect(taken[0]?.ask).toMatchObject({ deviceId: 'd0' })
  expect(questions.take([0, 0], ALL).length).toBe(3)
})

test('questions of a lost shard are asked again, but not for ever', async () => {
  const questions = new PendingQuestions({ ticks: () => 0, later: (run) => run(), ready: () => {} })
  const answer = codeOf(questions.add(ask, after(0)))
  for (let loss = 0; loss < 3; loss++) {
    const taken = questions.take([0, 0], ALL)
    expect(taken.length).toBe(1)
    questions.putBack(taken)
  }
  expect(questions.take([0, 0], ALL)).toEqual([])
  expect(await answer).toBe('SHARD_LOST')
})

test('a caller that waits too long, or comes when too many wait, gets a fault', async () => {
  let ticks = 0
  const questions = new PendingQuestions({ ticks: () => ticks, later: (run) => run(), ready: () => {} })
  const answers = Array.from({ length: LIMITS.asksWaitingMax }, () => codeOf(questions.add(ask, after(1))))
  expect(await codeOf(questions.add(ask, after(1)))).toBe('OVERLOADED')
  ticks = 5_000
  questions.expire()
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['OVERLOADED']))
})

test('questions of one turn of the event loop go together, at its end', () => {
  const turn: (() => void)[] = []
  const questions = new PendingQuestions({ ticks: () => 0, later: (run) => turn.push(run), ready: () => {} })
  for (const name of ['a', 'b']) void questions.add({ ...ask, deviceId: idOf(name) }, after(0))
  expect(questions.take([0, 0], ALL)).toEqual([])
  expect(turn.length).toBe(1)
  turn[0]?.()
  expect(questions.take([0, 0], ALL).length).toBe(2)
})
