import { expect, test } from 'vitest'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { FLEET_SEARCH_WORK } from '../../schemas/operation.ts'
import { API_LIMITS } from '../limits.ts'
import { createWorkBudget } from './work-budget.ts'

const PER_SEC = 10
const MOST = PER_SEC * API_LIMITS.workBurstSec
const DEAREST = MOST - FLEET_SEARCH_WORK

function open(perSec = PER_SEC) {
  const clock = new StandingTime(0)
  return { clock, work: createWorkBudget({ perSec, clock, shares: undefined }) }
}

test('a user has a budget of work that refills evenly, separately from other users', () => {
  const { clock, work } = open()
  expect(work.charge('a', MOST / 2)).toBeUndefined()
  expect(work.charge('a', MOST / 2 - 5)).toBeUndefined()
  expect(work.charge('a', 6)).toMatchObject({
    code: 'RATE_LIMIT_EXCEEDED',
    detail: { limited: 'work', retry_after_sec: 1 },
  })
  expect(work.charge('a', 5)).toBeUndefined()
  expect(work.charge('b', MOST)).toBeUndefined()
  clock.at += 2_000
  expect(work.charge('a', 20)).toBeUndefined()
  expect(work.charge('a', 1)?.code).toBe('RATE_LIMIT_EXCEEDED')
})

test('work that costs more than the whole budget is done once the budget is full, minus the cost of the request', () => {
  const { clock, work } = open()
  expect(work.charge('a', FLEET_SEARCH_WORK)).toBeUndefined()
  expect(work.charge('a', 1_000 * MOST)).toBeUndefined()
  expect(work.charge('a', 1_000 * MOST)).toMatchObject({ detail: { retry_after_sec: DEAREST / PER_SEC } })
  clock.at += API_LIMITS.workBurstSec * 1_000
  expect(work.charge('a', FLEET_SEARCH_WORK)).toBeUndefined()
  expect(work.charge('a', 1_000 * MOST)).toBeUndefined()
})

test('work is charged before it is done, and the unused part is given back', async () => {
  const { work } = open()
  const during: unknown[] = []
  const result = await work.spend('a', MOST, async () => {
    during.push(work.charge('a', MOST - DEAREST + 1))
    return { result: 'done', price: 10 }
  })
  expect(result).toBe('done')
  expect(during).toMatchObject([{ code: 'RATE_LIMIT_EXCEEDED' }])
  expect(work.charge('a', MOST - 10)).toBeUndefined()
  expect(work.charge('a', 1)?.code).toBe('RATE_LIMIT_EXCEEDED')
})

test('work that took more than its price is owed', async () => {
  const { clock, work } = open()
  await work.spend('a', 1, async () => ({ result: 'done', price: DEAREST }))
  expect(work.charge('a', MOST - DEAREST + 1)?.code).toBe('RATE_LIMIT_EXCEEDED')
  const twice = async () => ({ result: 'done', price: DEAREST })
  clock.at += API_LIMITS.workBurstSec * 1_000
  await Promise.all([work.spend('a', 1, twice), work.spend('a', 1, twice)])
  clock.at += API_LIMITS.workBurstSec * 1_000
  const left = 2 * (MOST - DEAREST)
  expect([work.charge('a', left + 1)?.code, work.charge('a', left)]).toEqual([
    'RATE_LIMIT_EXCEEDED',
    undefined,
  ])
})

test('work that fails is charged', async () => {
  const { work } = open()
  const failing = async () => {
    throw new Error('no database')
  }
  await expect(work.spend('a', MOST, failing)).rejects.toThrow('no database')
  expect(work.charge('a', MOST - DEAREST + 1)?.code).toBe('RATE_LIMIT_EXCEEDED')
})

test('a budget of 0 means no limit', async () => {
  const { work } = open(0)
  for (let i = 0; i < 10; i++) expect(work.charge('a', 1_000_000)).toBeUndefined()
  expect(await work.spend('a', 5, async () => ({ result: 1, price: 0 }))).toBe(1)
})
