import { expect, test } from 'vitest'
import { Latch } from './latch.ts'

test('setting a latch wakes its loop, and a latch set before the wait is not missed', async () => {
  const latch = new Latch()
  latch.set()
  latch.set()
  await latch.wait()
  let isAwake = false
  const waiting = latch.wait().then(() => {
    isAwake = true
  })
  await Promise.resolve()
  expect(isAwake).toBe(false)
  latch.set()
  await waiting
  expect(isAwake).toBe(true)
})
