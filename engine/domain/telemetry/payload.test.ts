import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type DeviceId, Micros } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { Columns } from './columns.ts'
import { toFeedData } from './feed-data.ts'
import { Latest } from './latest.ts'
import { report } from './report.ts'

function send(payload: Uint8Array, name: string | undefined): string {
  // The pattern of ids does not matter here.
  const about = {
    deviceId: 'dev_1' as DeviceId,
    name,
    receivedAt: Micros(Date.UTC(2026, 0, 1) * 1000),
    version: 1,
  }
  const latest = new Latest()
  const reported = report(payload, about, latest, new Columns())
  if (reported.kind === 'stored') {
    JSON.stringify(latest.toData())
    JSON.stringify(toFeedData(payload, name))
    Latest.decode(latest.encode())
  }
  return reported.kind
}

test('parsing never throws on JSON', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 12 }), fc.constantFrom(undefined, 'n', '__proto__'), (text, name) => {
      expect(['stored', 'ack', 'refused']).toContain(send(Buffer.from(text), name))
    }),
    { numRuns: 500 },
  )
})

test('parsing never throws on other bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      expect(['stored', 'ack', 'refused']).toContain(send(bytes, undefined))
    }),
    { numRuns: 500 },
  )
})

test.each([
  ['brackets', '['.repeat(LIMITS.payloadBytesMax)],
  ['braces', '{"":'.repeat(LIMITS.payloadBytesMax / 4)],
  ['names', `{${Array.from({ length: 26_000 }, (_, i) => `"${i}":1`)}}`],
  ['one long name', `{"${'x'.repeat(LIMITS.payloadBytesMax - 6)}":1}`],
  ['one long number', `{"x":${'9'.repeat(LIMITS.payloadBytesMax - 6)}}`],
  ['quotes', '"'.repeat(LIMITS.payloadBytesMax)],
  ['backslashes', `{"${'\\'.repeat(LIMITS.payloadBytesMax - 2)}`],
])('a full payload of %s is refused', (_, text) => {
  expect(text.length).toBeLessThanOrEqual(LIMITS.payloadBytesMax)
  expect(send(Buffer.from(text), undefined)).toBe('refused')
})

test('a full batch of reports with the same time is parsed quickly', () => {
  const fields = Array.from({ length: 30 }, (_, i) => `"m.${i}":1`)
  const one = `{"timestamp":1735700000000,${fields}}`
  const batch = `[${Array.from({ length: 700 }, () => one)}]`
  expect(send(Buffer.from(batch), undefined)).toBe('stored')
})

test.each([
  ['{"a":1,"timestamp":5,"b":{"c":null}}', undefined, { a: 1, b: { c: null } }],
  ['{"a":1}', 'imu', { imu: { a: 1 } }],
  ['21.5', 'room', { room: 21.5 }],
  ['[{"timestamp":1,"a":1,"b":1},{"timestamp":2,"a":2}]', undefined, { a: 2, b: 1 }],
  ['[{"a":1}]', 'objects', { objects: [{ a: 1 }] }],
  ['{"timestamp":5}', undefined, undefined],
  ['[]', undefined, undefined],
])('the feed shows %s as its fields', (payload, name, data) => {
  expect(toFeedData(Buffer.from(payload), name)).toEqual(data)
})
