import { describe, expect, test } from 'vitest'
import { NewestRequests } from './newest-requests.ts'

describe('requests for an answer that moves on', () => {
  test('the oldest is let end while newer ones come, so that slow answers are shown, too', () => {
    const requests = new NewestRequests()
    const [oldest, between, newest] = ['day', 'day', 'day'].map((shape) => requests.begin(shape))
    if (oldest === undefined || between === undefined || newest === undefined) throw new Error('three began')
    expect([oldest, between, newest].map(({ controller }) => controller.signal.aborted)).toEqual([
      false,
      true,
      false,
    ])
    expect(requests.end(oldest)).toBe(true)
    expect(requests.isAny).toBe(true)
    expect(requests.end(between)).toBe(false)
    expect(requests.end(newest)).toBe(true)
    expect(requests.isAny).toBe(false)
  })

  test('an older one is given up when a newer one was faster', () => {
    const requests = new NewestRequests()
    const [older, newer] = [requests.begin('day'), requests.begin('day')]
    expect(requests.end(newer)).toBe(true)
    expect(older.controller.signal.aborted).toBe(true)
    expect(requests.end(older)).toBe(false)
  })

  test('those about something else are given up, and all when nobody looks any more', () => {
    const requests = new NewestRequests()
    const day = requests.begin('day')
    const week = requests.begin('week')
    expect([day, week].map(({ controller }) => controller.signal.aborted)).toEqual([true, false])
    requests.stop()
    expect(week.controller.signal.aborted).toBe(true)
    expect(requests.end(week)).toBe(false)
  })
})
