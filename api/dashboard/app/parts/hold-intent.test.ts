import { expect, test } from 'vitest'
import { keyPressed, TWICE_WITHIN_MS, UNARMED } from './hold-intent.ts'

test('the second press of a key is meant, the first one and a late one are not', () => {
  const first = keyPressed(UNARMED, 1000)
  expect(first.isMeant).toBe(false)
  expect(keyPressed(first.intent, 1000 + TWICE_WITHIN_MS).isMeant).toBe(true)
  const late = keyPressed(first.intent, 1001 + TWICE_WITHIN_MS)
  expect(late.isMeant).toBe(false)
  expect(keyPressed(late.intent, 1100 + TWICE_WITHIN_MS).isMeant).toBe(true)
})

test('after it was meant, the next press is a first one again', () => {
  const second = keyPressed(keyPressed(UNARMED, 0).intent, 10)
  expect(keyPressed(second.intent, 20).isMeant).toBe(false)
})
