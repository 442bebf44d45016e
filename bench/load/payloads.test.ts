import { expect, test } from 'vitest'
import { LEAVES, METRICS, makePayloads } from './payloads.ts'

test('payloads are JSON with eight numbers, about 130 bytes, all of one length', () => {
  const payloads = makePayloads(2000)
  expect(new Set(payloads.map((payload) => payload.length)).size).toBe(1)
  expect(payloads[0]?.length).toBeGreaterThan(115)
  expect(payloads[0]?.length).toBeLessThan(145)
  const names = (value: unknown, path: string): string[] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => names(inner, path === '' ? key : `${path}.${key}`))
      : [path]
  for (const payload of payloads) expect(names(JSON.parse(payload.toString()), '')).toEqual([...METRICS])
  expect(METRICS).toHaveLength(LEAVES)
})

test('a seed always gives the same bytes, and values vary', () => {
  expect(makePayloads(50, 7)).toEqual(makePayloads(50, 7))
  expect(new Set(makePayloads(50, 7).map(String)).size).toBe(50)
})
