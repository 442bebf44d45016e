import { expect, test } from 'vitest'
import { Wake } from './wake.ts'

test('a poke wakes who waits, and one before is not lost', async () => {
  const wake = new Wake()
  wake.poke()
  wake.poke()
  await wake.wait()
  let isAwake = false
  const waiting = wake.wait().then(() => {
    isAwake = true
  })
  await Promise.resolve()
  expect(isAwake).toBe(false)
  wake.poke()
  await waiting
  expect(isAwake).toBe(true)
})
