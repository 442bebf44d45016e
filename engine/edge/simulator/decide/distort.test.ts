import { expect, test } from 'vitest'
import { FAULT_KINDS, type Fault, type FaultKind } from '../scenario/scenario.ts'
import { distort, isActive, isDown, nextChangeSec } from './distort.ts'

const fault = (kind: FaultKind, more: Partial<Fault> = {}): Fault => ({
  ...{ kind, atSec: 0, forSec: undefined, everySec: 10, downSec: 2, messagePercent: 100, times: 10 },
  ...{ delaySec: 30, perMin: 6, bytes: 50, ...more },
})
const FIELDS = { temperature: 20, mode: 'idle' }
const MOMENT = { seed: 1, device: 0, nth: 0, sinceSec: 30, last: undefined }

test('sensor faults change the values', () => {
  const sent = (kind: FaultKind, last?: object) =>
    distort(fault(kind), FIELDS, { ...MOMENT, ...(last && { last: { ...last } }) })
  expect(sent('spike')).toEqual({ kind: 'sent', fields: { temperature: 200, mode: 'idle' } })
  expect(sent('drift')).toEqual({ kind: 'sent', fields: { temperature: 23, mode: 'idle' } })
  expect(sent('stuck', { temperature: 7 })).toEqual({ kind: 'sent', fields: { temperature: 7 } })
  expect(sent('stuck')).toEqual({ kind: 'sent', fields: FIELDS })
  expect(sent('dropout')).toEqual({ kind: 'dropped' })
})

test('message faults produce messages that the service refuses', () => {
  const bad = distort(fault('bad_json'), FIELDS, MOMENT)
  expect(() => JSON.parse(bad.kind === 'raw' ? bad.text : '{}')).toThrow(SyntaxError)
  const large = distort(fault('oversize', { bytes: 300_000 }), FIELDS, MOMENT)
  expect(large.kind === 'raw' && large.text.length).toBeGreaterThan(300_000)
})

test('faults of the connection, the clock and the acks do not change the values', () => {
  const others = [
    'offline',
    'flap',
    'half_open',
    'slow_reader',
    'duplicate_acks',
    'late_acks',
    'clock_skew',
  ] as const
  for (const kind of others)
    expect(distort(fault(kind), FIELDS, MOMENT)).toEqual({ kind: 'sent', fields: FIELDS })
  expect(others.length + 6).toBe(FAULT_KINDS.length)
})

test('the configured share of messages is affected, and the seed decides which', () => {
  const dropped = (seed: number) =>
    Array.from({ length: 1_000 }, (_, nth) => {
      return (
        distort(fault('dropout', { messagePercent: 30 }), FIELDS, { ...MOMENT, seed, nth }).kind === 'dropped'
      )
    })
  expect(Math.abs(dropped(1).filter(Boolean).length - 300)).toBeLessThan(50)
  expect(dropped(1)).toEqual(dropped(1))
  expect(dropped(2)).not.toEqual(dropped(1))
})

test('a fault lasts for its configured time', () => {
  const limited = fault('stuck', { atSec: 10, forSec: 5 })
  expect([9, 10, 14.9, 15].map((sec) => isActive(limited, sec))).toEqual([false, true, true, false])
  expect(isActive(fault('stuck'), 1e6)).toBe(true)
})

/** Lists when the connection goes down and comes back. */
function changes(each: Fault, untilSec: number): readonly string[] {
  const seen: string[] = []
  let down = false
  for (let sec: number | undefined = 0; sec !== undefined && sec < untilSec; sec = nextChangeSec(each, sec)) {
    if (isDown(each, sec) !== down) seen.push(`${sec} ${down ? 'up' : 'down'}`)
    down = isDown(each, sec)
  }
  return seen
}

test('a connection goes down and comes back at the times of the fault', () => {
  expect(changes(fault('offline', { atSec: 5, forSec: 7 }), 100)).toEqual(['5 down', '12 up'])
  expect(changes(fault('offline', { atSec: 5 }), 100)).toEqual(['5 down'])
  expect(changes(fault('flap', { atSec: 1, forSec: 20 }), 100)).toEqual([
    '1 down',
    '3 up',
    '13 down',
    '15 up',
  ])
  expect(changes(fault('half_open', { atSec: 1 }), 100)).toEqual([])
  expect(nextChangeSec(fault('half_open', { atSec: 1, forSec: 3 }), 1)).toBe(4)
})
