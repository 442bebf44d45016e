import { expect, test } from 'vitest'
import { API_LIMITS } from '../limits.ts'
import { FairQueue } from './fair-queue.ts'

/** A queue whose work ends only when `next` is called, and the order in which callers got their turn. */
function open() {
  const queue = new FairQueue()
  const done: string[] = []
  const ends: (() => void)[] = []
  const ask = (who: string) =>
    queue.run(who, async () => {
      await new Promise<void>((resolve) => ends.push(resolve))
      done.push(who)
    })
  const next = async () => {
    ends.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { ask, next, done }
}

test('a caller with many requests does not delay a caller with one', async () => {
  const { ask, next, done } = open()
  const crowd = Array.from({ length: API_LIMITS.hashesAtOnceMax + 10 }, () => ask('crowd'))
  const others = [ask('ada'), ask('bob')]
  for (let i = 0; i < crowd.length + others.length; i++) await next()
  await Promise.all([...crowd, ...others])
  // Running work ends first, and then the lines take turns.
  expect(done.slice(0, API_LIMITS.hashesAtOnceMax + 3)).toEqual([
    ...Array(API_LIMITS.hashesAtOnceMax).fill('crowd'),
    'crowd',
    'ada',
    'bob',
  ])
})

test('when all lines together are full, the longest one gives way to a shorter one', async () => {
  const { ask, next } = open()
  const room = API_LIMITS.hashesAtOnceMax + API_LIMITS.hashesWaitingMax
  const crowd = Array.from({ length: room }, () => ask('crowd'))
  expect(await ask('crowd')).toBe('busy')
  const other = ask('ada')
  expect(await crowd.at(-1)).toBe('busy')
  for (let i = 0; i < room; i++) await next()
  expect(await other).toBeUndefined()
})
