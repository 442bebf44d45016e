import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { device, FleetModel } from '../fleet/testing/fleet-model.ts'
import { FleetFeed } from './fleet-feed.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('a fleet that was too large for an index is read as a whole once it is not', async () => {
  const model = new FleetModel()
  model.put(device('robot-1'))
  const asked: string[] = []
  let truncated = true
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(url)
    return { ok: true, status: 200, json: async () => ({ ...model.index(), truncated }) }
  })
  const feed = new FleetFeed({ send: () => undefined, say: () => undefined, token: () => 'token' })
  feed.follow({ url: '/index', paceMs: 500, isThrifty: false })
  feed.begin()
  await vi.advanceTimersByTimeAsync(60_000)
  truncated = false
  // A new connection.
  feed.begin()
  await vi.advanceTimersByTimeAsync(0)
  // The changes alone would look like the whole fleet.
  expect(asked).toEqual(['/index', '/index'])
})
