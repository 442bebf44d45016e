import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type DeviceId, Micros } from '../../../schemas/ids.ts'
import { Columns, type EncodedBlocks } from './columns.ts'
import { Latest } from './latest.ts'
import { readBlock } from './native-reader.ts'
import { report } from './report.ts'

const NOW = Date.UTC(2026, 0, 1) * 1000

interface Message {
  readonly device: number
  readonly payload: string
}

function add(columns: Columns, messages: readonly Message[]): void {
  messages.forEach(({ device, payload }, i) => {
    // The pattern of ids does not matter here.
    const deviceId = `dev_${device}` as DeviceId
    const about = { deviceId, name: undefined, receivedAt: Micros(NOW + i), version: 2 ** 40 + i }
    report(Buffer.from(payload), about, new Latest(), columns)
  })
}

function bytesOf({ points, texts }: EncodedBlocks): unknown {
  return [points, texts].map((block) => block && [block.rows, Buffer.from(block.bytes).toString('latin1')])
}

const message = fc.record({
  device: fc.nat(5),
  payload: fc
    .dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.oneof(fc.integer(), fc.boolean(), fc.string()))
    .map((data) => JSON.stringify(data)),
})
const messages = fc.array(message, { maxLength: 12 })

test('truncated rows leave no trace in the blocks', () => {
  fc.assert(
    fc.property(messages, messages, messages, (before, dropped, after) => {
      const columns = new Columns()
      const untouched = new Columns()
      add(columns, before)
      const savepoint = columns.savepoint()
      add(columns, dropped)
      columns.truncate(savepoint)
      add(columns, after)
      add(untouched, before)
      add(untouched, after)
      expect(bytesOf(columns.take())).toEqual(bytesOf(untouched.take()))
    }),
    { numRuns: 300 },
  )
})

test('taking a block empties the columns, and the next block is complete in itself', () => {
  const columns = new Columns()
  add(columns, [{ device: 1, payload: '{"a":1,"s":"x"}' }])
  expect(columns.rows).toBe(2)
  columns.take()
  expect(columns.rows).toBe(0)
  expect(columns.take()).toEqual({ points: undefined, texts: undefined })
  add(columns, [{ device: 2, payload: '{"a":2,"s":"x"}' }])
  const { points, texts } = columns.take()
  expect(points && readBlock(points.bytes).rows).toMatchObject([
    { deviceId: 'dev_2', metrics: ['a'], values: [2] },
  ])
  expect(texts && readBlock(texts.bytes).rows).toMatchObject([
    { deviceId: 'dev_2', metrics: ['s'], values: ['x'] },
  ])
})

test.each([
  [3, 5],
  [256, 255],
  [257, 256],
  [5, 70_000],
  [70_000, 5],
])('a block of %i devices and %i metrics reads back row by row', (devices, metrics) => {
  const columns = new Columns()
  const count = Math.max(devices, metrics)
  const sent = Array.from({ length: count }, (_, i) => ({
    device: i % devices,
    payload: `{"m${i % metrics}":${i / 4},"on":true}`,
  }))
  add(columns, sent)
  const { points } = columns.take()
  const read = points && readBlock(points.bytes)
  expect(read?.rows).toHaveLength(count)
  const wrong = read?.rows.findIndex(
    (row, i) =>
      row.deviceId !== `dev_${i % devices}` ||
      row.at !== NOW + i ||
      row.version !== 2 ** 40 + i ||
      row.received !== Math.floor((NOW + i) / 1_000_000) ||
      row.metrics.join() !== `m${i % metrics},on` ||
      row.values.join() !== `${i / 4},1`,
  )
  expect(wrong).toBe(-1)
})

test('texts of any length and alphabet read back', () => {
  const texts = [
    '',
    'x'.repeat(127),
    'x'.repeat(128),
    'ü'.repeat(64),
    'ü'.repeat(100),
    '😀'.repeat(2000),
    'x'.repeat(8192),
  ]
  const columns = new Columns()
  add(
    columns,
    texts.map((text) => ({ device: 1, payload: JSON.stringify({ text }) })),
  )
  const block = columns.take().texts
  expect(block && readBlock(block.bytes).rows.map((row) => row.values[0])).toEqual(texts)
})

test('a small block has exactly these bytes', () => {
  const columns = new Columns()
  add(columns, [{ device: 7, payload: '{"a":1,"b":2}' }])
  const bytes = Buffer.from(columns.take().points?.bytes ?? [])
  const head = '\x06\x01\x09device_id\x16LowCardinality(String)\x01\0\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\x01'
  expect(bytes.toString('latin1').startsWith(head)).toBe(true)
  expect(() => readBlock(bytes.subarray(0, bytes.length - 1))).toThrow('not a block')
  expect(() => readBlock(Buffer.concat([bytes, Buffer.from([0])]))).toThrow('not a block')
})
