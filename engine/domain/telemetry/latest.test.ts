import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type DeviceId, Micros } from '../../../schemas/ids.ts'
import { Columns } from './columns.ts'
import { Latest } from './latest.ts'
import { report } from './report.ts'

const NOW = Date.UTC(2026, 0, 1) * 1000
// The pattern of ids does not matter here.
const deviceId = 'dev_1' as DeviceId

interface Message {
  readonly payload: string
  readonly version: number
}

function apply(latest: Latest, messages: readonly Message[], columns = new Columns()): Latest {
  for (const { payload, version } of messages)
    report(
      Buffer.from(payload),
      { deviceId, name: undefined, receivedAt: Micros(NOW), version },
      latest,
      columns,
    )
  return latest
}

/** Sorts the keys of objects, because their order does not matter. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, child]) => [key, sorted(child)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

const value = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(-0, true, false, null, 'auto', 'é', [1], { x: 1 }, { x: null, y: { z: 2 } }, {}),
)
const fields = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'a.x', '__proto__'), value)
/** There are few different event times, so that many messages share one. */
const messages = fc.array(fc.tuple(fields, fc.nat(3)), { maxLength: 8 }).map((list) =>
  list.map(([data, at], version): Message => {
    const timestamp = `"timestamp":${NOW / 1000 - 1000 + at}`
    const rest = JSON.stringify(data).slice(1).replace('-0', '0')
    return { payload: `{${timestamp}${rest === '}' ? '' : ','}${rest}`, version }
  }),
)

test('the order of messages does not matter', () => {
  fc.assert(
    fc.property(
      messages.chain((list) =>
        fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
      ),
      ([list, shuffled]) => {
        const one = apply(new Latest(), list)
        const other = apply(new Latest(), shuffled)
        expect(sorted(other.toData())).toEqual(sorted(one.toData()))
        expect(other.timestamp).toBe(one.timestamp)
        expect(other.metrics).toBe(one.metrics)
      },
    ),
    { numRuns: 300 },
  )
})

test('messages that are seen again change nothing, even after a restart', () => {
  fc.assert(
    fc.property(messages, fc.nat(8), fc.boolean(), (list, from, restarted) => {
      const once = apply(new Latest(), list)
      const again = restarted ? Latest.decode(once.encode()) : apply(new Latest(), list)
      apply(again, list.slice(from))
      expect(sorted(again.toData())).toEqual(sorted(once.toData()))
      expect(again.metrics).toBe(once.metrics)
      expect(again.timestamp).toBe(once.timestamp)
    }),
    { numRuns: 300 },
  )
})

test('a decoded snapshot equals the encoded one, also after later merges', () => {
  fc.assert(
    fc.property(messages, messages, (before, after) => {
      const latest = apply(new Latest(), before)
      const copy = Latest.decode(latest.encode())
      expect(copy.toData()).toEqual(latest.toData())
      expect(Buffer.from(copy.encode())).toEqual(Buffer.from(latest.encode()))
      const later = after.map((message) => ({ ...message, version: message.version + 100 }))
      expect(sorted(apply(copy, later).toData())).toEqual(sorted(apply(latest, later).toData()))
      expect(copy.metrics).toBe(latest.metrics)
    }),
    { numRuns: 300 },
  )
})

test('a field keeps the value with the newest event time, and the snapshot has the newest of these times', () => {
  const latest = new Latest()
  apply(latest, [
    { payload: '{"timestamp":1735700002000,"a":2}', version: 1 },
    { payload: '{"timestamp":1735700001000,"a":1,"b":1}', version: 2 },
    { payload: '{"timestamp":1735700002000,"a":3}', version: 3 },
    { payload: '{"timestamp":1735700002000,"a":2}', version: 1 },
  ])
  expect(latest.toData()).toEqual({ a: 3, b: 1 })
  expect(latest.timestamp).toBe(1_735_700_002_000_000)
})

test('messages are merged even if a device has more shapes than are kept', () => {
  const names = Array.from({ length: 30 }, (_, i) => `m${i}`)
  const columns = new Columns()
  const latest = new Latest()
  for (let round = 0; round < 3; round++)
    names.forEach((name, i) => {
      const payload = `{"${name}":${round * 100 + i},"shared":${i}}`
      apply(latest, [{ payload, version: round * 30 + i }], columns)
    })
  expect(latest.metrics).toBe(31)
  expect(latest.toData()).toEqual({
    ...Object.fromEntries(names.map((name, i) => [name, 200 + i])),
    shared: 29,
  })
})

test('bytes of another format are refused as a snapshot', () => {
  expect(() => Latest.decode(Buffer.from([9, 0, 0]))).toThrow('snapshot')
  expect(() => Latest.decode(new Uint8Array(0))).toThrow('snapshot')
})
