import { describe, expect, test } from 'vitest'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { Micros } from '../../schemas/ids.ts'
import { API_LIMITS } from '../limits.ts'
import { Budget } from './budget.ts'
import type { Notice } from './notice.ts'
import { HELD_COST_BYTES, Outbox, type Recipient } from './outbox.ts'
import { openTally } from './tally.ts'
import { id, START } from './testing/socket-service.ts'
import type { Wire } from './wire.ts'

class FakeWire implements Wire {
  readonly frames: string[] = []
  room = 0
  delivered = 0
  send(frame: string): void {
    this.frames.push(frame)
    this.room -= 1
  }
  cork(run: () => void): void {
    run()
  }
  pressure(): number {
    return this.room > 0 ? 0 : 2
  }
  deliveredBytes(): number {
    return this.delivered
  }
  end(): void {}
}

function openOutbox(budgetBytes = 10_000, heldEntriesMax: number = API_LIMITS.heldEntriesMax) {
  const wire = new FakeWire()
  const time = new StandingTime(0)
  const budget = new Budget(budgetBytes)
  const tally = openTally()
  let frozen = 0
  const onFrozen = () => {
    frozen += 1
  }
  const outbox = new Outbox({
    wire,
    budget,
    schedule: time,
    tally,
    limits: { ...API_LIMITS, heldEntriesMax },
    onFrozen,
  })
  return { wire, time, budget, tally, outbox, frozen: () => frozen }
}

const hidden = new Set<string>()
const to: Recipient = {
  id: 's1',
  frameOf: ({ deviceId, fields }) => `${deviceId} ${JSON.stringify(fields)}`,
  maySee: ({ deviceId }) => !hidden.has(deviceId ?? ''),
}

function notice(device: string, fields: Record<string, number>): Notice {
  const event = { kind: 'telemetry', deviceId: id(device), at: START, data: fields, seq: 1 } as const
  return { event, deviceId: event.deviceId, at: START, tail: JSON.stringify(fields), fields }
}

/** A log entry, which no other entry replaces. */
function entry(n: number): Notice {
  const row = { deviceId: id('a'), kind: 'log', at: Micros(n), version: n, body: '{}' } as const
  const event = { kind: 'log', event: 'device.log', deviceId: row.deviceId, at: START, row } as const
  return { event, deviceId: row.deviceId, at: START, tail: 'x'.repeat(100), fields: { n } }
}

describe('entries of a log for a full wire', () => {
  const sendAll = (open: ReturnType<typeof openOutbox>) => {
    for (let n = 1; n <= 5; n++) open.outbox.push(to, entry(n))
    open.outbox.flush()
    const held = open.budget.used
    open.wire.room = 9
    open.outbox.resume()
    return { held, frames: open.wire.frames }
  }
  const ENTRY_COST = 100 + HELD_COST_BYTES

  test('are all kept, in order', () => {
    const { frames } = sendAll(openOutbox())
    expect(frames).toEqual([1, 2, 3, 4, 5].map((n) => `a {"n":${n}}`))
  })

  test.each([
    ['their number', openOutbox(10_000, 3)],
    ['their bytes', openOutbox(ENTRY_COST * 3 + 50)],
  ])('leave from the oldest on when %s is too large, and the client is told how many', (_, open) => {
    const { held, frames } = sendAll(open)
    expect(held).toBe(ENTRY_COST * 3)
    expect(frames).toEqual([
      ...[3, 4, 5].map((n) => `a {"n":${n}}`),
      '{"type":"resync","id":"s1","dropped":2}',
    ])
    expect(open.budget.used).toBe(0)
    expect(open.tally.dropped).toBe(2)
  })
})

describe('the outbox of a full wire', () => {
  test('keeps the latest notice of each device, reports once how many were missed, and starts anew', () => {
    const { wire, outbox, budget, tally } = openOutbox()
    for (let n = 1; n <= 3; n++) {
      outbox.push(to, notice('a', { n }))
      outbox.push(to, notice('b', { n }))
      outbox.flush()
    }
    expect(wire.frames).toEqual([])
    wire.room = 2
    outbox.resume()
    expect(wire.frames).toEqual(['a {"n":3}', 'b {"n":3}', '{"type":"resync","id":"s1","dropped":4}'])
    expect(budget.used).toBe(0)
    expect(tally).toMatchObject({ conflated: 4, dropped: 0, sent: 3 })
    wire.room = 1
    outbox.push(to, notice('a', { n: 4 }))
    outbox.flush()
    expect(wire.frames.at(-1)).toBe('a {"n":4}')
  })

  test('continues where it stopped after the wire has filled up again', () => {
    const { wire, outbox } = openOutbox()
    for (const device of ['a', 'b', 'c']) outbox.push(to, notice(device, { n: 1 }))
    outbox.flush()
    wire.room = 2
    outbox.resume()
    outbox.push(to, notice('a', { n: 2 }))
    outbox.flush()
    wire.room = 9
    outbox.resume()
    expect(wire.frames).toEqual(['a {"n":1}', 'b {"n":1}', 'c {"n":1}', 'a {"n":2}'])
  })

  test('merges reports of different fields', () => {
    const { wire, outbox } = openOutbox()
    for (const fields of [{ x: 1, y: 1 }, { x: 2 }]) outbox.push(to, notice('a', fields))
    outbox.flush()
    wire.room = 9
    outbox.resume()
    expect(wire.frames[0]).toBe('a {"x":2,"y":1}')
  })

  test('only counts notices beyond its budget', () => {
    const { wire, outbox, budget, tally } = openOutbox(300)
    for (const device of ['a', 'b', 'c', 'd']) outbox.push(to, notice(device, { n: 1 }))
    outbox.flush()
    expect(budget.used).toBeLessThanOrEqual(300)
    wire.room = 9
    outbox.resume()
    expect(wire.frames).toEqual(['a {"n":1}', 'b {"n":1}', '{"type":"resync","id":"s1","dropped":2}'])
    expect(tally.dropped).toBe(2)
  })

  test('sends answers in order before all events, and gives up on a client that lets too many pile up', () => {
    const { wire, outbox, frozen } = openOutbox(500)
    outbox.push(to, notice('a', { n: 1 }))
    outbox.flush()
    outbox.answer('one')
    outbox.answer('two')
    expect(frozen()).toBe(0)
    outbox.answer('three')
    expect(frozen()).toBe(1)
    wire.room = 9
    outbox.resume()
    expect(wire.frames).toEqual(['one', 'two', 'a {"n":1}'])
  })

  test('calls a client frozen only when nothing moves for the whole time', () => {
    const { wire, time, outbox, frozen } = openOutbox()
    outbox.push(to, notice('a', { n: 1 }))
    outbox.flush()
    for (let i = 0; i < 3; i++) {
      wire.delivered += 1
      time.at += API_LIMITS.socketFrozenMs
    }
    expect(frozen()).toBe(0)
    time.at += API_LIMITS.socketFrozenMs
    expect(frozen()).toBe(1)
  })

  test('leaves out held notices of a device that is no longer visible', () => {
    const { wire, outbox, budget } = openOutbox()
    outbox.push(to, notice('a', { n: 1 }))
    outbox.push(to, notice('b', { n: 1 }))
    outbox.flush()
    hidden.add('a')
    wire.room = 9
    outbox.resume()
    hidden.clear()
    expect(wire.frames.filter((frame) => frame.startsWith('a'))).toEqual([])
    expect(wire.frames).toContain('b {"n":1}')
    expect(budget.used).toBe(0)
  })

  test('drops the notices of a subscription that ends, and everything when it closes', () => {
    const { wire, time, outbox, budget } = openOutbox()
    outbox.push(to, notice('a', { n: 1 }))
    outbox.push({ ...to, id: 's2' }, notice('a', { n: 1 }))
    outbox.flush()
    outbox.remove(to)
    outbox.answer('one')
    expect(budget.used).toBeGreaterThan(0)
    outbox.close()
    expect(budget.used).toBe(0)
    expect(time.waiting).toBe(0)
    wire.room = 9
    outbox.resume()
    outbox.answer('two')
    expect(wire.frames).toEqual([])
  })
})
